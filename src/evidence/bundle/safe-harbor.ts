/** `safe-harbor.html` of a bundle: the elements of the safe harbors, and for each what is in the bundle and what is missing. */
import { escapeHtml, formatPage } from './documents.js'
import { type BundleFacts, describeRows, type PackedState } from './facts.js'

interface Element {
  readonly name: string
  readonly rule: string
  readonly present: readonly string[]
  readonly missing: readonly string[]
}

const notKept = 'not kept by this program: add it yourself'

export function formatSafeHarbor({ reported, state }: BundleFacts): string {
  const rows = listElements(state, reported.length).map(({ name, rule, present, missing }) => {
    const verdict = present.length === 0 ? 'MISSING' : missing.length === 0 ? 'PRESENT' : 'IN PART'
    const cells = [name, rule, verdict, present.join('; '), missing.join('; ')]
    return `<tr>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`
  })
  return formatPage(
    'Safe harbor: what is here and what is missing',
    `<p>Not legal advice. A bundle alone is never a safe harbor. What is here need not be enough: read it.</p>
<table><tr><th>Element</th><th>Rule</th><th></th><th>In this bundle</th><th>Missing</th></tr>
${rows.join('\n')}</table>`,
  )
}

function listElements(state: PackedState, decisions: number): readonly Element[] {
  return [
    {
      name: 'Written procedures to comply',
      rule: '16 CFR 310.4(b)(3)(i); 47 CFR 64.1200(c)(2)(i)(A)',
      present: [],
      missing: [notKept],
    },
    {
      name: 'Training of personnel',
      rule: '16 CFR 310.4(b)(3)(ii); 47 CFR 64.1200(c)(2)(i)(B)',
      present: [],
      missing: [notKept],
    },
    {
      name: 'A list of numbers that may not be called',
      rule: '16 CFR 310.4(b)(3)(iii); 47 CFR 64.1200(c)(2)(i)(C)',
      present: [
        ...(decisions > 0 ? ['what the list said at each decision: findings in report.html'] : []),
        ...describeFiles(state, 'opt-outs', 'opt-out-statements'),
      ],
      missing: listUnproven(state, 'opt-outs', 'opt-out-statements'),
    },
    listVersions(state),
    {
      name: 'Registrations to call',
      rule: '16 CFR 310.8; state law',
      ...listRegistrations(state),
    },
    {
      name: 'Monitoring and enforcement',
      rule: '16 CFR 310.4(b)(3)(v)',
      present: [],
      missing: [notKept],
    },
    {
      name: 'The call was an error',
      rule: '16 CFR 310.4(b)(3)(vi); 47 CFR 64.1200(c)(2)(i)',
      present: [],
      missing: ['a person must say it'],
    },
    {
      name: 'Policy on demand, training, recording and honoring of opt-outs, identification of callers',
      rule: '47 CFR 64.1200(d)(1)-(6)',
      present: describeFiles(state, 'opt-outs', 'opt-out-statements', 'own-numbers'),
      missing: [`the policy: ${notKept}`],
    },
    {
      name: 'Consent or business relationship',
      rule: '47 CFR 64.1200(c)(2)(ii), (f)',
      present: describeFiles(state, 'consents', 'consent-records'),
      missing: [
        ...listAbsent(state, 'consents', 'no consent with its wording is stored'),
        ...listUnproven(state, 'consents', 'consent-records'),
      ],
    },
    {
      name: 'Database of reassigned numbers asked before the call',
      rule: '47 CFR 64.1200(m)',
      present: describeFiles(state, 'reassigned'),
      missing: listAbsent(state, 'reassigned', 'no decision has an answer'),
    },
    {
      name: 'Calling rules and policy in force at each decision',
      rule: '47 CFR 64.1200(c)(1); state law',
      present: describeFiles(state, 'rules', 'settings', 'keys', 'pauses'),
      missing: [
        ...listAbsent(state, 'rules', 'no decision says where the number was'),
        ...listUnproven(state, 'rules', 'settings'),
      ],
    },
  ]
}

const count = (state: PackedState, file: string) => state.files[file] ?? { rows: 0, stored: 0 }

function describeFiles(state: PackedState, ...files: readonly string[]): readonly string[] {
  return files.flatMap((file) => {
    const found = count(state, file)
    return found.rows === 0 ? [] : [`state/${file}.jsonl: ${describeRows(found)}`]
  })
}

function listAbsent(state: PackedState, file: string, rule: string): readonly string[] {
  return count(state, file).rows === 0 ? [rule] : []
}

function listUnproven(state: PackedState, ...files: readonly string[]): readonly string[] {
  return [
    ...(state.hasDatabase ? [] : ['the rows of the database: there was none']),
    ...files.flatMap((file) => {
      const { rows, stored } = count(state, file)
      return rows === stored
        ? []
        : [
            `state/${file}.jsonl: the proof of ${rows - stored} rows, which are as the database or the file says today`,
          ]
    }),
  ]
}

/** Each version with its import, the SHA-256 of the file that was imported, and its use. */
function listVersions(state: PackedState): Element {
  const { rows, stored, shown } = { shown: [], ...count(state, 'lists') }
  const names = shown.map(({ row }) => `${row.name} ${row.version} (as of ${row.asOf})`)
  const hasSource = shown.filter(({ row }) => JSON.stringify(row).includes('"sha256"')).length
  return {
    name: 'A version of the national registry of at most 31 days, and records of it',
    rule: '16 CFR 310.4(b)(3)(iv); 47 CFR 64.1200(c)(2)(i)(D)',
    present: rows === 0 ? [] : [...describeFiles(state, 'lists'), ...names],
    missing: [
      ...(rows === 0 ? ['no decision names a list'] : ['the imported files themselves']),
      ...(hasSource < shown.length
        ? [`the SHA-256 of the files of ${shown.length - hasSource} versions`]
        : []),
      ...(stored < rows ? [`a signed record of ${rows - stored} versions`] : []),
    ],
  }
}

function listRegistrations(state: PackedState): Pick<Element, 'present' | 'missing'> {
  const { shown = [] } = state.files.projects ?? {}
  const without = shown.filter(({ row }) => !row.san && !row.orgId).map(({ row }) => row.code)
  return {
    present: describeFiles(state, 'projects'),
    missing: [
      ...(shown.length === 0 ? ['no project is stored'] : []),
      ...(without.length > 0
        ? [`subscription to the federal registry (SAN) of project ${without.join(', ')}`]
        : []),
    ],
  }
}

/** What people read in a bundle. Plain English, no scripts, nothing from a network; drafts that a person completes and signs. */
import { formatInstant } from '../../domain/time/dates.js'
import type { DecisionDocument } from '../../gate/decision-document.js'

export interface Question {
  readonly accountId?: string | undefined
  /** Ten digits. */
  readonly number?: string | undefined
  /** Of the record: from `from` on, before `to`; milliseconds. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** Of decisions. */
  readonly ids?: readonly string[] | undefined
}

export interface BundleFacts {
  readonly question: Question
  readonly program: string
  readonly origin: string
  /** Number of records that are signed. */
  readonly size: number
  readonly span: readonly [number, number]
  readonly counts: Readonly<Record<string, number>>
  readonly reported: readonly DecisionDocument[]
}

function describeQuestion({ accountId, number, from, to, ids }: Question): string {
  const parts = [
    number === undefined ? undefined : `number ${number}`,
    accountId === undefined ? undefined : `account ${accountId}`,
    from === undefined ? undefined : `from ${formatInstant(from)}`,
    to === undefined ? undefined : `before ${formatInstant(to)}`,
    ids === undefined ? undefined : `decisions ${ids.join(', ')}`,
  ]
  return parts.filter((part) => part !== undefined).join(', ')
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

const page = (title: string, body: string): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<style>body{font:11pt/1.4 serif;max-width:48em;margin:2em auto}table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2em .5em;text-align:left;vertical-align:top}section{break-inside:avoid}</style>
</head><body><h1>${title}</h1>
${body}
</body></html>
`

export function formatReadme({ question, origin, program, span }: BundleFacts): string {
  return `EVIDENCE FROM THE JOURNAL OF A CALL GATE

Asked: ${describeQuestion(question)}
Log: ${origin}
Packed by callgate ${program}

records.txt has each record: its number, its salt, and its exact bytes (JSON).
entries.bin has 50 bytes for every record from ${span[0]} to ${span[1]}, whether it is about the question or not, and for each
record of records.txt. They say when a record was written, and commit to it without showing it.
checkpoint is the signed root of the tree with all of them.

HOW TO VERIFY
1. Get the key of the log from somebody you trust, not from this bundle. With Node 18 or newer:
     node verify.mjs --key '<key>'
   It needs no network. Exit code 0: proven. 1: something is false. 2: something could not be checked. 3: wrong usage.
2. Without this program: each file of proofs/ is a C2SP tlog-proof (c2sp.org/tlog-proof) that other programs read. Its
   extra data is the entry (50 bytes), the salt (16 bytes) and the record. Bundles of more than 1,000 records have none.
3. By hand: sha256sum -c manifest.sha256 and the SHA-256 of each file in manifest.json; SHA-256 of "callgate/record/v1", a
   line feed, the 16 bytes of the salt and the record are the last 32 bytes of its entry.

WHAT A FAILURE MEANS
A file was changed, is missing or was added since the bundle was packed; or a record is not the one that was signed. It
does not say who did it. Ask for the bundle again.

WHAT IT DOES NOT SHOW
That a call was placed or not placed, that no call was placed without asking, and that the other records of the span are
not about the question. Of a record from which a number was erased, the rest may differ too. A change of several numbers at once is recorded without the numbers, and is not here. The consents,
opt-outs and business relationships that the database has are not here. manifest.json and the pages for people are not
signed: the records are. Time stamps in timestamps/, if there are any, are not checked by verify.mjs. Each is about the
checkpoint beside it, which may have fewer records than this one:
     openssl ts -verify -data timestamps/<name>.checkpoint -in timestamps/<name>.tsr -CAfile <certificate of the authority>
`
}

export function formatReport(facts: BundleFacts): string {
  const { question, origin, size, span, counts, reported } = facts
  const decided = (counts.decision ?? 0) + (counts.amendment ?? 0)
  const body = `<p>Asked: ${escapeHtml(describeQuestion(question))}. Log: ${escapeHtml(origin)}, ${size} records signed; span: records
${span[0]} to ${span[1]}.</p>
<p>It has ${counts.decision ?? 0} decisions, ${counts.amendment ?? 0} amendments, ${counts.outcome ?? 0} outcomes, ${counts.audit ?? 0} changes by
people and programs, ${counts.receipt ?? 0} receipts of opt-outs and ${counts.notice ?? 0} notices of erasures.${decided > reported.length ? ` The ${reported.length} decisions that follow are the first; records.txt has all records.` : ''}</p>
<h2>Decisions</h2>
${reported.map(formatDecision).join('\n')}
<h2>What this shows</h2>
<p>That these records were in the log when its checkpoint was signed, with these words, in this order. What a record says
is what the program was told and computed then.</p>
<h2>What it does not show</h2>
<p>That a call was or was not placed; that nobody called without asking; that what the program was told was true; and,
without a witness or a time stamp, when the checkpoint was signed.</p>`
  return page('Report', body)
}

function formatDecision(document: DecisionDocument): string {
  const rows = document.findings.map(({ check, verdict, detail, source, lists = [] }) => {
    const from = lists.map(({ name, version, asOf }) => `${name} ${version} (as of ${asOf})`)
    const cells = [check, verdict, detail, [source, ...from].join('; ')]
    return `<tr>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`
  })
  const isErased = document.erased === true ? ' <b>A number was erased from this record.</b>' : ''
  return `<section><h3>${escapeHtml(document.decision)}: ${escapeHtml(document.message)}</h3>
<p>${escapeHtml(document.decidedAt)} (UTC), decision ${escapeHtml(document.id)}, number ${escapeHtml(document.number)}, account ${escapeHtml(document.accountId)}.${isErased}</p>
<table><tr><th>Check</th><th>Verdict</th><th>Why</th><th>Source</th></tr>${rows.join('')}</table></section>`
}

export function formatCertificate({ question, origin, program, size }: BundleFacts): string {
  const blank = '______________________'
  return page(
    'Draft of a certification',
    `<p><b>This is a draft that the program made. It certifies nothing until a person who knows the facts has corrected, completed
and signed it. Have counsel read it.</b></p>
<p>Under Federal Rules of Evidence 902(11), 902(13) and 902(14), and 28 U.S.C. 1746.</p>
<p>I, ${blank} (name), am ${blank} (title) at ${blank} (company). I am a custodian of its records, or otherwise qualified.</p>
<p>1. 902(11): The records in this bundle (${escapeHtml(describeQuestion(question))}) were made at or near the time by, or from information
transmitted by, someone with knowledge; were kept in the course of a regularly conducted activity; and making them was a
regular practice of that activity. [Correct what is not so.]</p>
<p>2. 902(13): They were generated by callgate ${escapeHtml(program)}, an electronic process that produces an accurate result, as follows:
${blank}</p>
<p>3. 902(14): They were copied from log ${escapeHtml(origin)} of ${size} signed records, and identified by SHA-256 values as manifest.json says.</p>
<p>I declare under penalty of perjury that the foregoing is true and correct. [Outside the United States: "under the laws of
the United States of America".] Executed on ${blank} (date).</p><p>${blank} (signature)</p>`,
  )
}

export function formatSafeHarbor({ reported }: BundleFacts): string {
  const lists = new Set(
    reported
      .flatMap(({ findings }) => findings.flatMap((one) => one.lists ?? []))
      .map(({ name, version, asOf }) => `${name} ${version} (as of ${asOf})`),
  )
  const checked =
    lists.size === 0 ? 'No decision in the report names a list.' : [...lists].sort().join('; ')
  const missing = 'MISSING: not kept by this program. Add it yourself.'
  const rows = [
    ['Written procedures to comply', '16 CFR 310.4(b)(3)(i); 47 CFR 64.1200(c)(2)(i)(A)', missing],
    ['Training of personnel', '16 CFR 310.4(b)(3)(ii); 47 CFR 64.1200(c)(2)(i)(B)', missing],
    [
      'A list of numbers that may not be called',
      '16 CFR 310.4(b)(3)(iii); 47 CFR 64.1200(c)(2)(i)(C)',
      'In part: findings of the checks in report.html; changes and receipts in records.txt. The list itself is MISSING in this bundle.',
    ],
    [
      'A version of the national registry of at most 31 days, and records of it',
      '16 CFR 310.4(b)(3)(iv); 47 CFR 64.1200(c)(2)(i)(D)',
      `In part: ${checked} The imported files, their SHA-256 and the subscription (SAN) are MISSING.`,
    ],
    ['Monitoring and enforcement', '16 CFR 310.4(b)(3)(v)', missing],
    [
      'The call was an error',
      '16 CFR 310.4(b)(3)(vi); 47 CFR 64.1200(c)(2)(i)',
      'MISSING: a person must say it.',
    ],
    [
      'Policy on demand, training, recording and honoring of opt-outs, identification of callers',
      '47 CFR 64.1200(d)(1)-(6)',
      missing,
    ],
    [
      'Consent or business relationship',
      '47 CFR 64.1200(c)(2)(ii), (f)',
      'In part: findings of the checks in report.html. The consents themselves are MISSING in this bundle.',
    ],
  ]
  const body = rows
    .map((row) => `<tr>${row.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`)
    .join('\n')
  return page(
    'Safe harbor: what is here and what is missing',
    `<p>Not legal advice. A bundle alone is never a safe harbor.</p><table><tr><th>Element</th><th>Rule</th><th>In this bundle</th></tr>${body}</table>`,
  )
}

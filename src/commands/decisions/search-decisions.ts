/** `callgate decisions search`: the decisions of an account, from the data folder, also beside a running server. */
import { type Command, Option } from 'commander'
import { toCsvHeader, toCsvLine } from '../../api/csv.js'
import type { DecisionRecordBody } from '../../api/gate/decision-body.js'
import { decisionColumns, vias } from '../../api/gate/decision-search.js'
import type { AppContext } from '../../app/app-context.js'
import { openDecisionSearch } from '../../app/journal/open-search.js'
import { createOperatorCaller, parseProjectCode } from '../../domain/caller.js'
import { reasonCodes } from '../../domain/checks.js'
import { callKinds } from '../../domain/decision.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { DecisionFilter, SearchPage } from '../../gate/journal/search/decision-search.js'
import { toReply } from '../../gate/record/describe-decision.js'
import { type AccountRequest, forAccount } from '../account-command.js'
import { CommandFailure, formatTable, type Terminal } from '../command.js'
import { parseTimeRange } from '../option-values.js'

interface SearchOptions
  extends Pick<DecisionFilter, 'number' | 'decision' | 'reason' | 'via' | 'reference'> {
  readonly since: string
  readonly until?: string
  readonly kind?: string
  readonly project?: string
  readonly key?: string
  readonly limit: string
  readonly json?: boolean
  readonly csv?: boolean
}

const maxDecisions = 100_000
const decisionsOfPage = 200

export function registerDecisionSearch(decisions: Command, terminal: Terminal): void {
  const choice = (flags: string, description: string, words: readonly string[]) =>
    new Option(flags, description).choices([...words])
  decisions
    .command('search')
    .description('the decisions of an account, newest first; who has searched is logged')
    .option('--account <id>', 'of this account', 'main')
    .option('--number <digits>', 'only of this number, ten digits, or of this service code')
    .option('--since <time>', 'instant, date or how long ago, such as 7d', '1d')
    .option('--until <time>', 'instant, date or how long ago; now when absent')
    .addOption(choice('--decision <word>', 'only these', ['allow', 'block']))
    .addOption(choice('--reason <code>', 'only with this reason', reasonCodes))
    .addOption(choice('--kind <kind>', 'only calls of this kind', callKinds))
    .option(
      '--project <code>',
      'only of this project; without one, a decision is of the Master Project',
    )
    .addOption(choice('--via <way>', 'only those that were asked for in this way', vias))
    .option('--reference <text>', 'only with exactly this reference')
    .option('--key <id>', 'only those that this API key has asked for')
    .option('--limit <count>', `how many at most, up to ${maxDecisions}`, '100')
    .option('--json', 'the records, as JSON lines')
    .option('--csv', 'as CSV')
    .action(
      forAccount((context, request: AccountRequest<SearchOptions>) =>
        search(context, request, terminal),
      ),
    )
}

async function search(
  { storage, runtime, settings }: AppContext,
  { accountId, options }: AccountRequest<SearchOptions>,
  terminal: Terminal,
): Promise<void> {
  const { since, until, kind, project = '', key, json, csv, limit, ...texts } = options
  const most = /^\d{1,6}$/.test(limit) ? Number(limit) : 0
  if (most < 1 || most > maxDecisions) {
    throw new CommandFailure(
      `--limit '${limit}': must be a whole number from 1 to ${maxDecisions}`,
      2,
    )
  }
  if (texts.number !== undefined && !/^\d{2,15}$/.test(texts.number)) {
    const rule = 'must be ten digits, or those of a service code'
    throw new CommandFailure(`--number '${texts.number}': ${rule}`, 2)
  }
  const range = parseTimeRange({ since, until }, runtime.clock.now())
  const filter = {
    ...texts,
    callKind: kind,
    keyId: key,
    projectId: parseProjectCode(accountId, project),
    from: range.since,
    // A decision of this millisecond is not left out.
    to: until === undefined ? undefined : range.until,
  }
  const decisions = openDecisionSearch({ dataDir: settings.dataDir, storage, clock: runtime.clock })
  const caller = createOperatorCaller(accountId)
  const rows: DecisionRecordBody[] = []
  if (csv) terminal.out(toCsvHeader(decisionColumns))
  let count = 0
  let page: SearchPage | undefined
  do {
    const left = Math.min(decisionsOfPage, most - count)
    page = await decisions.search({ caller, filter, before: page?.next, limit: left })
    count += page.decisions.length
    for (const decision of page.decisions.map(toReply) as readonly DecisionRecordBody[]) {
      if (json) terminal.out(`${JSON.stringify(decision)}\n`)
      else if (csv) terminal.out(toCsvLine(decisionColumns, decision))
      else rows.push(decision)
    }
  } while (page.next !== undefined && count < most)
  if (!json && !csv) terminal.out(describe(rows))
  noteEnd(page, terminal)
}

function noteEnd(
  { next, searchedBackTo = 0, completeUntil, removedBefore }: SearchPage,
  terminal: Terminal,
): void {
  if (next !== undefined) {
    terminal.note(
      `there may be more before ${formatInstant(searchedBackTo)}: raise --limit, or give --until\n`,
    )
  }
  terminal.note(`complete until ${formatInstant(completeUntil)}\n`)
  if (removedBefore !== undefined) {
    terminal.note(
      `decisions from before ${formatInstant(removedBefore)} were removed after journal.keepYears\n`,
    )
  }
}

function describe(rows: readonly DecisionRecordBody[]): string {
  return formatTable(
    [
      'decided at',
      'number',
      'kind',
      'decision',
      'reason',
      'project',
      'via',
      'key',
      'reference',
      'outcome',
      'id',
    ],
    rows.map(
      ({ decidedAt, number, callKind, decision, reason, projectId, via, keyId, ...more }) => [
        decidedAt,
        number || (more.erased ? 'erased' : more.dialed),
        callKind,
        decision,
        reason,
        projectId ?? '-',
        via,
        keyId ?? '-',
        more.reference ?? '-',
        more.outcome?.state ?? '-',
        more.id,
      ],
    ),
  )
}

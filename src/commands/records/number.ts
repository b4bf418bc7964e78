/** `callgate number <number>`: all that an account has about one number. */
import type { Command } from 'commander'
import { type NumberBody, type NumberParts, numberEndpoint } from '../../api/records/number.js'
import { openCallgate } from '../../app/callgate.js'
import { readNumber } from '../../app/numbers/number-page.js'
import { createNumberPageDeps } from '../../app/numbers/number-route.js'
import { createOperatorCaller } from '../../domain/caller.js'
import { nodeRuntime } from '../../runtime/runtime.js'
import { describeAuthor, requireAccount } from '../account-command.js'
import { readCallOptions } from '../check.js'
import { formatTable, loadCommandSettings, type RegisterCommand } from '../command.js'

interface NumberOptions {
  readonly account?: string
  readonly project?: string
  readonly campaign?: string
  readonly askProvider?: true
  readonly reason?: string
  readonly json?: true
}

export const registerNumber: RegisterCommand = (program, terminal) => {
  program
    .command('number')
    .description('show all that an account has about one number, and what would be decided now')
    .argument('<number>', 'as dialed: 2125550100, +1 (212) 555-0100, sip:...')
    .option('--account <id>', 'account (default: gate.account)')
    .option('--project <id>', 'project whose calls are judged (default: the Master Project)')
    .option('--campaign <id>', 'campaign')
    .option('--ask-provider', 'also ask providers, which may charge for it')
    .option('--reason <text>', 'what it is read for; kept with the record of the read')
    .option('--json', 'all of it as JSON')
    .addHelpText(
      'after',
      '\nThe read is recorded, and nothing else. A part that cannot be read says why; that does not mean there is nothing.\n' +
        '\nExample:\n' +
        "  callgate number 212-555-0100 --account sandbox --reason 'complaint of 11/24'\n",
    )
    .action(async (text: string, options: NumberOptions, command: Command) => {
      const body = await read(text, options, command)
      terminal.out(options.json ? `${JSON.stringify(body, null, 2)}\n` : describeNumber(body))
    })
}

async function read(text: string, options: NumberOptions, command: Command): Promise<NumberBody> {
  const settings = loadCommandSettings(command)
  const { project: projectId, campaign: campaignId, askProvider = false, reason } = options
  const request = readCallOptions(numberEndpoint, {
    ...{ number: text, projectId, campaignId, askProvider, reason },
  })
  const author = describeAuthor(command)
  const callgate = await openCallgate(
    settings,
    { ...nodeRuntime, processMetrics: false },
    { author },
  )
  try {
    const { account: accountId = settings.gate.account } = options
    await requireAccount(callgate, accountId)
    const caller = createOperatorCaller(accountId)
    return await readNumber(createNumberPageDeps(callgate), caller, request)
  } finally {
    await callgate.close()
  }
}

function describeNumber({ number, asOf, source, serviceCode, parts }: NumberBody): string {
  const head = `${number}  as of ${asOf}\n`
  if (!parts) return `${head}${serviceCode ?? ''}\n`
  return [
    `${head}${source.note}\n`,
    ...(Object.keys(titles) as (keyof NumberParts)[]).map((name) => describePart(name, parts)),
  ].join('\n')
}

const titles: Readonly<Record<keyof NumberParts, string>> = {
  place: 'PLACE',
  now: 'WHAT WOULD BE DECIDED NOW',
  optOuts: 'OPT-OUTS',
  consents: 'CONSENTS AND RELATIONSHIPS',
  attempts: 'CALLS THAT COUNT',
  lists: 'LISTS',
  reassigned: 'REASSIGNED',
  labels: 'LABELS OF AN OWN NUMBER',
  complaints: 'COMPLAINTS ABOUT AN OWN NUMBER',
  decisions: 'LATEST DECISIONS',
  changes: 'CHANGES',
}

/** Each list of rows as a table, and the rest as lines. */
function describePart(name: keyof NumberParts, parts: NumberParts): string {
  const { known, ...part } = parts[name]
  if (!known)
    return `${titles[name]}: not known, because ${(part as { because: string }).because}\n`
  const lines = Object.entries(part).map(([field, value]) =>
    isRows(value) ? describeRows(field, value) : `  ${field}: ${toCell(value)}\n`,
  )
  return `${titles[name]}\n${lines.join('')}`
}

type Row = Readonly<Record<string, unknown>>

const isRows = (value: unknown): value is readonly Row[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'object')

function describeRows(field: string, rows: readonly Row[]): string {
  if (rows.length === 0) return `  ${field}: none\n`
  const head = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const table = formatTable(
    head,
    rows.map((row) => head.map((column) => toCell(row[column]))),
  )
  return `  ${field}:\n${table.replaceAll(/^(?=.)/gm, '    ')}`
}

/** Texts may be those of strangers. */
function toCell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replaceAll(/\p{C}/gu, ' ')
}

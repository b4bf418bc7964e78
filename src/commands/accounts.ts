/** `callgate accounts ...`: the accounts there are, and what each may do. */
import { type Command, Option } from 'commander'
import { mostScrubNumbers, publishedScrubNumbers } from '../domain/caller.js'
import { formatInstant } from '../domain/clock.js'
import { type Account, type AccountSwitches, repeatedAdds } from '../service/accounts/accounts.js'
import { type AddCommand, CommandFailure, type Terminal } from './command.js'
import { withFoundation } from './foundation.js'
import { table } from './table.js'

const scrubNumbersRule = `${publishedScrubNumbers} (as published) to ${mostScrubNumbers}`

type YesOrNo = 'yes' | 'no'

interface SetOptions {
  readonly agentsMayRemove?: YesOrNo
  readonly repeatedAdd?: AccountSwitches['repeatedAdd']
  readonly country?: AccountSwitches['country']
  readonly mayScan?: YesOrNo
  readonly scanCredits?: string
  readonly autoPrefix?: YesOrNo
  readonly numbersPerScrub?: string
  readonly aiKeepsVoiceWindows?: YesOrNo
}

/** What each switch is called for people. */
const labels: Readonly<Record<keyof AccountSwitches, string>> = {
  country: 'country',
  agentsMayRemove: 'agents may remove numbers',
  mayScan: 'may scan',
  scanCredits: 'scan credits',
  autoPrefix: 'auto prefix',
  repeatedAdd: 'repeated add',
  numbersPerScrub: 'numbers per scrub',
  aiKeepsVoiceWindows: 'AI keeps voice windows',
}

const switchNames = Object.keys(labels) as (keyof AccountSwitches)[]

export const addAccounts: AddCommand = (program, terminal) => {
  const group = program.command('accounts').description('accounts and what each may do')
  group
    .command('list')
    .description('the accounts there are')
    .action((_options, command: Command) =>
      withFoundation(command, async ({ accounts }) => {
        terminal.out(describe(await accounts.list()))
      }),
    )
  addCreate(group, terminal)
  addSet(group, terminal)
  addWebhookSecret(group, terminal)
}

function addCreate(group: Command, terminal: Terminal): void {
  group
    .command('create')
    .description('make an account; its keys are made with keys create --account <id>')
    .argument('<id>', 'letters, digits, - and _; also the client_id of its access tokens')
    .requiredOption('--name <text>', 'name for people')
    .action((id: string, { name }: { name: string }, command: Command) =>
      withFoundation(command, async ({ accounts }) => {
        if (await accounts.ensure({ id, kind: 'real', name })) return terminal.out(`${id}\n`)
        throw new CommandFailure(`id '${id}': is an account already (see: callgate accounts list)`)
      }),
    )
}

function addSet(group: Command, terminal: Terminal): void {
  group
    .command('set')
    .description('change what an account may do; running servers follow within a second')
    .argument('<id>', 'the id shown by accounts list')
    .addOption(yesOrNo('--agents-may-remove', 'role Agent may take numbers off the internal list'))
    .addOption(
      new Option(
        '--repeated-add <choice>',
        'adding a number that is on the internal list already: ends older consents, or nothing',
      ).choices(repeatedAdds),
    )
    .addOption(
      new Option('--country <code>', 'whose carriers label its numbers').choices(['US', 'CA']),
    )
    .addOption(yesOrNo('--may-scan', 'one-time reputation scans are authorized'))
    .option('--scan-credits <n>', 'numbers it may still scan, or unlimited')
    .addOption(yesOrNo('--auto-prefix', 'codes of new projects get <id>_ in front'))
    .option('--numbers-per-scrub <n>', `most numbers of one scrub: ${scrubNumbersRule}`)
    .addOption(
      yesOrNo(
        '--ai-keeps-voice-windows',
        'IsCallAllowedAI of a scrub keeps the calling hours of recorded voices, as the gate does',
      ),
    )
    .action((id: string, options: SetOptions, command: Command) =>
      withFoundation(command, async ({ accounts }) => {
        const changes = changesOf(options)
        if (!(await accounts.set(id, changes))) throw unknown(id)
        for (const name of switchNames) {
          const value = changes[name]
          if (value !== undefined) terminal.note(`${id}: ${labels[name]}: ${shown(value)}\n`)
        }
      }),
    )
}

function addWebhookSecret(group: Command, terminal: Terminal): void {
  group
    .command('webhook-secret')
    .description('print what signs the account’s webhooks; standard output is it and nothing else')
    .argument('<id>', 'the id shown by accounts list')
    .option('--rotate', 'make another one: receivers must know it before they are sent more')
    .action((id: string, { rotate }: { rotate?: true }, command: Command) =>
      withFoundation(command, async ({ accounts }) => {
        if (!(await accounts.find(id))) throw unknown(id)
        const secret = rotate ? accounts.rotateWebhookSecret(id) : accounts.webhookSecret(id)
        terminal.out(`${await secret}\n`)
      }),
    )
}

function yesOrNo(flag: string, description: string): Option {
  return new Option(`${flag} <choice>`, description).choices(['yes', 'no'])
}

function unknown(id: string): CommandFailure {
  return new CommandFailure(`id '${id}': is no account here (see: callgate accounts list)`, 2)
}

function changesOf(options: SetOptions): Partial<AccountSwitches> {
  const { agentsMayRemove, repeatedAdd, country, mayScan, scanCredits, autoPrefix } = options
  const { numbersPerScrub, aiKeepsVoiceWindows } = options
  const changes = {
    ...(agentsMayRemove !== undefined && { agentsMayRemove: agentsMayRemove === 'yes' }),
    ...(repeatedAdd !== undefined && { repeatedAdd }),
    ...(country !== undefined && { country }),
    ...(mayScan !== undefined && { mayScan: mayScan === 'yes' }),
    ...(scanCredits !== undefined && { scanCredits: creditsIn(scanCredits) }),
    ...(autoPrefix !== undefined && { autoPrefix: autoPrefix === 'yes' }),
    ...(numbersPerScrub !== undefined && { numbersPerScrub: scrubNumbersIn(numbersPerScrub) }),
    ...(aiKeepsVoiceWindows !== undefined && {
      aiKeepsVoiceWindows: aiKeepsVoiceWindows === 'yes',
    }),
  }
  if (Object.keys(changes).length > 0) return changes
  const flags =
    '--agents-may-remove, --country, --may-scan, --scan-credits, --auto-prefix, --repeated-add, ' +
    '--numbers-per-scrub, --ai-keeps-voice-windows'
  throw new CommandFailure(`nothing to set: give at least one of ${flags}`, 2)
}

function creditsIn(text: string): number | 'unlimited' {
  if (text === 'unlimited') return text
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new CommandFailure(`--scan-credits '${text}': must be a whole number, or unlimited`, 2)
}

function scrubNumbersIn(text: string): number {
  const numbers = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (numbers >= publishedScrubNumbers && numbers <= mostScrubNumbers) return numbers
  throw new CommandFailure(`--numbers-per-scrub '${text}': must be ${scrubNumbersRule}`, 2)
}

function shown(value: Account[keyof AccountSwitches]): string {
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)
}

function describe(accounts: readonly Account[]): string {
  return table(
    ['id', 'kind', ...switchNames.map((name) => labels[name]), 'created', 'name'],
    accounts.map((account) => [
      account.id,
      account.kind,
      ...switchNames.map((name) => shown(account[name])),
      formatInstant(account.createdAt),
      account.name,
    ]),
  )
}

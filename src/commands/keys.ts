/** `callgate keys ...`: API keys of the accounts. A new key is shown once and stored hashed. */
import { type Command, Option } from 'commander'
import { type Role, rights, roles } from '../domain/caller.js'
import { formatInstant, type Instant, parseInstant } from '../domain/clock.js'
import { callKinds } from '../domain/decision.js'
import type { ApiKeyInfo } from '../service/accounts/api-keys.js'
import type { KeyGrant } from '../service/accounts/key-rows.js'
import { type AddCommand, CommandFailure } from './command.js'
import { withFoundation } from './foundation.js'
import { table } from './table.js'

export const addKeys: AddCommand = (program, terminal) => {
  const group = program
    .command('keys')
    .description('API keys: the loginId of requests, or the client_secret of access tokens')

  group
    .command('create')
    .description('make a key; standard output is the key and nothing else')
    .option('--account <id>', 'account the key speaks for', 'main')
    .addOption(
      new Option('--role <role>', 'an Agent may not take numbers off the internal list')
        .choices(roles)
        .default('Administrator'),
    )
    .option('--label <text>', 'what the key is for', '')
    .option('--can <rights>', `only these, separated by commas: ${rights.join(', ')}`, join)
    .option('--projects <codes>', 'may name only these projects and their campaigns', join)
    .option(
      '--kinds <kinds>',
      `may ask only for calls of these kinds: ${callKinds.join(', ')}`,
      join,
    )
    .option(
      '--expires <when>',
      'refused from then on: 2027-01-31 (midnight UTC), an instant, or 90d, 12h, 30m',
    )
    .action((options: CreateOptions, command: Command) =>
      withFoundation(command, async ({ keys, world }) => {
        const { account: accountId, role, label } = options
        const wanted = parseGrant(options, world.clock.now())
        const { id, key, grant } = await keys.create({ accountId, role, label, ...wanted })
        terminal.out(`${key}\n`)
        const limits = describeLimits(grant)
        terminal.note(
          `${id}: ${role} of account ${accountId}${limits}. The key is not shown again.\n`,
        )
      }),
    )

  group
    .command('list')
    .description('the keys there are, never the keys themselves')
    .option('--account <id>', 'only those of one account')
    .action((options: { account?: string }, command: Command) =>
      withFoundation(command, async ({ keys, world }) => {
        terminal.out(describeKeys(await keys.list(options.account), world.clock.now()))
      }),
    )

  group
    .command('revoke')
    .description('make a key and its access tokens worthless, within a second on running servers')
    .argument('<id>', 'the id shown by keys list')
    .action((id: string, _options, command: Command) =>
      withFoundation(command, async ({ keys }) => {
        if (!(await keys.revoke(id))) {
          throw new CommandFailure(`id '${id}': no key in force has it (see: callgate keys list)`)
        }
        terminal.note(`${id} is revoked\n`)
      }),
    )
}

interface CreateOptions {
  readonly account: string
  readonly role: Role
  readonly label: string
  readonly can?: string
  readonly projects?: string
  readonly kinds?: string
  readonly expires?: string
}

function parseGrant({ can, projects, kinds, expires }: CreateOptions, now: Instant): KeyGrant {
  return {
    rights: can === undefined ? undefined : parseWords('--can', can, rights),
    projects: projects?.split(',').map((code) => code.trim()),
    callKinds: kinds === undefined ? undefined : parseWords('--kinds', kinds, callKinds),
    expiresAt: expires === undefined ? undefined : parseExpiry(expires, now),
  }
}

/** Words separated by commas, each once and in the order of `known`. */
function parseWords<Word extends string>(
  option: string,
  text: string,
  known: readonly Word[],
): readonly Word[] {
  const words = text.split(',').map((word) => word.trim().toLowerCase())
  const wrong = words.find((word) => !known.some((one) => one === word))
  if (wrong === undefined) return known.filter((one) => words.includes(one))
  const rule = `must be one or more of ${known.join(', ')}, separated by commas`
  throw new CommandFailure(`${option} '${wrong}': ${rule}`, 2)
}

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function parseExpiry(text: string, now: Instant): Instant {
  const [, amount = '', unit = ''] = /^(\d{1,5})([mhd])$/.exec(text.trim()) ?? []
  const unitMs = unitsMs[unit]
  const at = unitMs === undefined ? parseInstant(text) : now + Number(amount) * unitMs
  if (at !== undefined) return at
  const rule =
    'must be a day such as 2027-01-31, an instant such as 2027-01-31T17:00:00Z, or a time'
  throw new CommandFailure(`--expires '${text}': ${rule} from now such as 90d, 12h or 30m`, 2)
}

function describeLimits({ rights: can, projects, callKinds: kinds, expiresAt }: KeyGrant): string {
  return [
    ...(can ? [`; it can ${can.join(', ')}`] : []),
    ...(projects ? [`; projects ${projects.join(', ')}`] : []),
    ...(kinds ? [`; kinds ${kinds.join(', ')}`] : []),
    ...(expiresAt === undefined ? [] : [`; expires ${formatInstant(expiresAt)}`]),
  ].join('')
}

function describeState({ revokedAt, expiresAt }: ApiKeyInfo, now: Instant): string {
  if (revokedAt !== undefined) return `revoked ${formatInstant(revokedAt)}`
  if (expiresAt === undefined) return 'in force'
  return `${now < expiresAt ? 'expires' : 'expired'} ${formatInstant(expiresAt)}`
}

function describeKeys(keys: readonly ApiKeyInfo[], now: Instant): string {
  return table(
    ['id', 'account', 'role', 'can', 'projects', 'kinds', 'created', 'state', 'label'],
    keys.map((key) => [
      key.id,
      key.accountId,
      key.role,
      key.rights.length === rights.length ? 'all' : key.rights.join(','),
      key.projects?.join(',') ?? 'any',
      key.callKinds?.join(',') ?? 'any',
      formatInstant(key.createdAt),
      describeState(key, now),
      key.label,
    ]),
  )
}

/** An option that is given twice means both values. */
function join(value: string, before: string | undefined): string {
  return before === undefined ? value : `${before},${value}`
}

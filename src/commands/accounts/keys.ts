/** `callgate keys ...`: creates, lists and revokes API keys. A key is shown once and stored hashed. */
import { type Command, Option } from 'commander'
import { type Role, rights, roles } from '../../domain/caller.js'
import { callKinds } from '../../domain/decision.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, parseInstant } from '../../domain/time/dates.js'
import type { ApiKeyInfo } from '../../service/accounts/api-keys.js'
import type { KeyGrant } from '../../service/accounts/key-rows.js'
import { requireOwnAccounts, withAppContext } from '../account-command.js'
import { CommandFailure, formatTable, type RegisterCommand } from '../command.js'
import { parseDuration, parseWords } from '../option-values.js'

export const registerKeys: RegisterCommand = (program, terminal) => {
  const group = program
    .command('keys')
    .description('API keys: the loginId of requests, or the client_secret of access tokens')

  group
    .command('create')
    .description('create a key; standard output has only the key')
    .option('--account <id>', 'account of the key', 'main')
    .addOption(
      new Option('--role <role>', 'an Agent may not remove numbers from the internal list')
        .choices(roles)
        .default('Administrator'),
    )
    .option('--label <text>', 'what the key is for', '')
    .option(
      '--can <rights>',
      `only these rights, separated by commas: ${rights.join(', ')}`,
      joinOptionValues,
    )
    .option('--projects <codes>', 'only these projects and their campaigns', joinOptionValues)
    .option(
      '--kinds <kinds>',
      `only calls of these kinds: ${callKinds.join(', ')}`,
      joinOptionValues,
    )
    .option(
      '--expires <when>',
      'when it expires: 2027-01-31 (midnight UTC), an instant, or 90d, 12h, 30m',
    )
    .action((options: CreateOptions, command: Command) =>
      withAppContext(command, async (context) => {
        requireOwnAccounts(context)
        const { keys, runtime } = context
        const { account: accountId, role, label } = options
        const requestedGrant = parseGrant(options, runtime.clock.now())
        const { id, key, grant } = await keys.create({ accountId, role, label, ...requestedGrant })
        terminal.out(`${key}\n`)
        const limits = describeLimits(grant)
        terminal.note(
          `${id}: ${role} of account ${accountId}${limits}. The key is not shown again.\n`,
        )
      }),
    )

  group
    .command('list')
    .description('list the keys, without the key values')
    .option('--account <id>', 'only those of one account')
    .action((options: { account?: string }, command: Command) =>
      withAppContext(command, async ({ keys, runtime }) => {
        terminal.out(describeKeys(await keys.list(options.account), runtime.clock.now()))
      }),
    )

  group
    .command('revoke')
    .description('revoke a key and its access tokens; running servers follow within a second')
    .argument('<id>', 'the id shown by keys list')
    .action((id: string, _options, command: Command) =>
      withAppContext(command, async (context) => {
        requireOwnAccounts(context)
        if (!(await context.keys.revoke(id))) {
          throw new CommandFailure(`active key '${id}' not found (see: callgate keys list)`)
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

function parseExpiry(text: string, now: Instant): Instant {
  const ms = parseDuration(text.trim(), ['m', 'h', 'd'])
  const at = ms === undefined ? parseInstant(text) : now + ms
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
  return formatTable(
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

/** An option that is given twice combines both values. */
function joinOptionValues(value: string, before: string | undefined): string {
  return before === undefined ? value : `${before},${value}`
}

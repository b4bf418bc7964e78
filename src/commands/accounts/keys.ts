/** `callgate keys ...`: creates, limits, pauses, lists and revokes API keys. A key is shown once and stored hashed. */
import { type Command, Option } from 'commander'
import { type Role, rights, roles } from '../../domain/caller.js'
import type { PauseSubject, Pauses } from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { ApiKeyInfo, KeyVersionInfo } from '../../service/accounts/api-keys.js'
import type { KeyGrant } from '../../service/accounts/key-rows.js'
import { readKeyUses } from '../../service/keys/key-uses.js'
import { requireOwnAccounts, withAppContext } from '../account-command.js'
import {
  CommandFailure,
  findPersonOption,
  formatTable,
  type RegisterCommand,
  type Terminal,
} from '../command.js'
import { findUser } from '../option-values.js'
import {
  addKeyOptions,
  describeLimits,
  type KeyOptions,
  type PresetName,
  parseKeyOptions,
  presetNames,
  presets,
  toGrant,
} from './key-options.js'

export const registerKeys: RegisterCommand = (program, terminal) => {
  const group = program
    .command('keys')
    .description('API keys: the loginId of requests, or the client_secret of access tokens')
  registerCreate(group, terminal)
  registerChange(group, terminal)
  registerPauses(group, terminal)

  group
    .command('list')
    .description('list the keys, without the key values')
    .option('--account <id>', 'only those of one account')
    .action((options: { account?: string }, command: Command) =>
      withAppContext(command, async ({ keys, pauses, runtime, storage }) => {
        const now = runtime.clock.now()
        const uses = await readKeyUses(storage, options.account)
        const all = await keys.list(options.account)
        terminal.out(describeKeys(all, { pauses: await pauses.read(), uses, now }))
      }),
    )

  group
    .command('history')
    .description('list what a key was limited to, version by version')
    .argument('<id>', 'the id shown by keys list')
    .action((id: string, _options, command: Command) =>
      withAppContext(command, async ({ keys }) => {
        terminal.out(describeHistory(await keys.listVersions(id)))
      }),
    )

  group
    .command('revoke')
    .description('revoke a key and its access tokens; running servers follow within a second')
    .argument('<id>', 'the id shown by keys list')
    .action((id: string, _options, command: Command) =>
      withAppContext(command, async (context) => {
        requireOwnAccounts(context)
        if (!(await context.keys.revoke(id))) throw keyNotFound(id)
        terminal.note(`${id} is revoked\n`)
      }),
    )
}

interface CreateOptions extends KeyOptions {
  readonly account: string
  readonly role?: Role
  readonly for?: PresetName
  readonly label: string
}

function registerCreate(group: Command, terminal: Terminal): void {
  const command = group
    .command('create')
    .description(
      'create a key; standard output has only the key. With --person and without --for, it is the key of that person and can ' +
        'approve; other keys are those of programs, which approve nothing',
    )
    .option('--account <id>', 'account of the key', 'main')
    .addOption(
      new Option('--role <role>', 'an Agent may not remove numbers from the internal list').choices(
        roles,
      ),
    )
    .addOption(
      new Option('--for <client>', 'start with the limits for such a client').choices(presetNames),
    )
    .option('--label <text>', 'what the key is for', '')
  addKeyOptions(command).action((options: CreateOptions, self: Command) =>
    withAppContext(self, async (context) => {
      requireOwnAccounts(context)
      const { keys, runtime } = context
      const { account: accountId, label } = options
      const now = runtime.clock.now()
      const asked = parseKeyOptions(options, now)
      const preset = options.for && presets[options.for]
      const role = options.role ?? preset?.role ?? 'Administrator'
      const requested: KeyGrant = {
        ...(preset && toGrant(preset, now)),
        ...asked,
        ...(asked.calls && { calls: { ...preset?.calls, ...asked.calls } }),
      }
      const isPersonal = findPersonOption(self) !== undefined && preset === undefined
      const owner = { accountId, role, label, isPersonal }
      const { id, key, grant } = await keys.create({ ...owner, ...requested })
      terminal.out(`${key}\n`)
      const limits = describeLimits(grant).map((limit) => `; ${limit}`)
      terminal.note(
        `${id}: ${role} of account ${accountId}${limits.join('')}. The key is not shown again.\n`,
      )
    }),
  )
}

function registerChange(group: Command, terminal: Terminal): void {
  const command = group
    .command('change')
    .description(
      'change limits of a key; any ends a limit, and running servers follow within a second',
    )
    .argument('<id>', 'the id shown by keys list')
  addKeyOptions(command).action((id: string, options: KeyOptions, self: Command) =>
    withAppContext(self, async (context) => {
      requireOwnAccounts(context)
      const changes = parseKeyOptions(options, context.runtime.clock.now())
      if (Object.keys(changes).length === 0) {
        throw new CommandFailure('name a limit to change, such as --attempts-per-hour 30', 2)
      }
      const changed = await context.keys.change(id, { ...changes, by: findUser() })
      if (!changed) throw keyNotFound(id)
      const limits = describeLimits(changed.grant).join('; ') || 'no limits'
      terminal.note(`${id}, version ${changed.version}: ${limits}\n`)
    }),
  )
}

interface PauseOptions {
  readonly agentsOf?: string
  readonly aiOf?: string
  readonly ai?: boolean
}

function registerPauses(group: Command, terminal: Terminal): void {
  const withSubject = (command: Command) =>
    command
      .argument('[id]', 'the id shown by keys list')
      .option('--agents-of <account>', 'instead of one: all keys of an account for AI calls alone')
      .option('--ai-of <account>', 'instead of one: all AI calls of an account')
      .option('--ai', 'instead of one: all AI calls, whoever asks')

  withSubject(group.command('pause'))
    .description('allow no call that a key asks for; opt-outs are still accepted')
    .requiredOption('--because <text>', 'why, for those who see the blocked calls')
    .action((id: string | undefined, options: PauseOptions & { because: string }, self: Command) =>
      withAppContext(self, async (context) => {
        requireOwnAccounts(context)
        const subject = readSubject(id, options)
        const order = { subject, because: options.because, pausedBy: findUser() }
        const isNew = await context.pauses.pause(order)
        const name = describeSubject(subject)
        terminal.note(
          isNew ? `${name}: paused\n` : `${name}: paused already, nothing was changed\n`,
        )
      }),
    )

  withSubject(group.command('resume'))
    .description('end a pause')
    .action((id: string | undefined, options: PauseOptions, self: Command) =>
      withAppContext(self, async (context) => {
        requireOwnAccounts(context)
        const subject = readSubject(id, options)
        const name = describeSubject(subject)
        if (!(await context.pauses.resume(subject))) throw new CommandFailure(`${name}: not paused`)
        terminal.note(`${name}: resumed\n`)
      }),
    )
}

function readSubject(id: string | undefined, { agentsOf, aiOf, ai }: PauseOptions): PauseSubject {
  const subjects: readonly (PauseSubject | false)[] = [
    id !== undefined && `key:${id}`,
    agentsOf !== undefined && `agents:${agentsOf}`,
    aiOf !== undefined && `ai:${aiOf}`,
    ai === true && 'ai',
  ]
  const [subject, ...more] = subjects.filter((one) => one !== false)
  if (subject !== undefined && more.length === 0) return subject
  throw new CommandFailure('name one of: the id of a key, --agents-of, --ai-of, --ai', 2)
}

function describeSubject(subject: PauseSubject): string {
  if (subject === 'ai') return 'all AI calls'
  const [kind, id = ''] = subject.split(/:(.*)/s)
  if (kind === 'key') return id
  return `${kind === 'ai' ? 'all AI calls' : 'agents'} of account ${id}`
}

function keyNotFound(id: string): CommandFailure {
  return new CommandFailure(`active key '${id}' not found (see: callgate keys list)`)
}

function describeState(key: ApiKeyInfo, pauses: Pauses, now: Instant): string {
  const { revokedAt, unreadable, notBefore, expiresAt } = key
  if (revokedAt !== undefined) return `revoked ${formatInstant(revokedAt)}`
  if (unreadable !== undefined) return 'refused: unreadable limits'
  const pause = pauses.get(`key:${key.id}`)
  if (pause) return `paused ${formatInstant(pause.pausedAt)}`
  if (notBefore !== undefined && now < notBefore) return `from ${formatInstant(notBefore)}`
  if (expiresAt === undefined) return 'in force'
  return `${now < expiresAt ? 'expires' : 'expired'} ${formatInstant(expiresAt)}`
}

interface KeyStates {
  readonly pauses: Pauses
  readonly uses: ReadonlyMap<string, Instant>
  readonly now: Instant
}

function describeKeys(keys: readonly ApiKeyInfo[], { pauses, uses, now }: KeyStates): string {
  const lastUse = ({ id }: ApiKeyInfo) => {
    const at = uses.get(id)
    return at === undefined ? '-' : formatInstant(at)
  }
  const table = formatTable(
    [
      'id',
      'account',
      'role',
      'can',
      'projects',
      'kinds',
      'version',
      'created',
      'last use',
      'state',
      'label',
    ],
    keys.map((key) => [
      key.id,
      key.accountId,
      key.role,
      key.rights.length === rights.length ? 'all' : key.rights.join(','),
      key.projects?.join(',') ?? 'any',
      key.callKinds?.join(',') ?? 'any',
      String(key.version),
      formatInstant(key.createdAt),
      lastUse(key),
      describeState(key, pauses, now),
      key.label,
    ]),
  )
  const wide = [...pauses].filter(([subject]) => !/^(?:key|check|country|held):/.test(subject))
  const lines = wide.map(([subject, { pausedAt, pausedBy, because }]) => {
    const name = describeSubject(subject as PauseSubject)
    return `${name}: paused ${formatInstant(pausedAt)} by ${pausedBy}: ${because}\n`
  })
  return [table, ...lines].join('')
}

function describeHistory(versions: readonly KeyVersionInfo[]): string {
  return formatTable(
    ['version', 'from', 'by', 'limits'],
    versions.map(({ version, changedAt, changedBy, grant }) => [
      String(version),
      formatInstant(changedAt),
      changedBy || '-',
      grant.unreadable === undefined ? describeLimits(grant).join('; ') || 'none' : 'unreadable',
    ]),
  )
}

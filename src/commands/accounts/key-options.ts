/** The options that limit a key, and their values for the kinds of clients there are. */
import { type Command, Option } from 'commander'
import { type Role, rights } from '../../domain/caller.js'
import { callKinds } from '../../domain/decision.js'
import { type ApprovalRule, approvalRules, type CallLimits } from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, msPerDay, msPerHour, parseInstant } from '../../domain/time/dates.js'
import type { KeyGrant } from '../../service/accounts/key-rows.js'
import { CommandFailure } from '../command.js'
import { parseDuration, parseWords } from '../option-values.js'

export const presetNames = ['ai-agent', 'dialer', 'service'] as const
export type PresetName = (typeof presetNames)[number]

interface Preset extends Omit<KeyGrant, 'expiresAt'> {
  readonly role: Role
  readonly expiresInMs?: number
}

export function toGrant({ role: _, expiresInMs, ...grant }: Preset, now: Instant): KeyGrant {
  return { ...grant, expiresAt: expiresInMs === undefined ? undefined : now + expiresInMs }
}

export const presets: Readonly<Record<PresetName, Preset>> = {
  'ai-agent': {
    role: 'Agent',
    rights: ['decide', 'records'],
    callKinds: ['ai'],
    calls: {
      callerIds: 'valid',
      attemptsPerHour: 60,
      attemptsPerNumberPerDay: 3,
      coolDownSeconds: msPerHour / 1000,
    },
    expiresInMs: 90 * msPerDay,
  },
  dialer: { role: 'Agent', rights: ['decide', 'records'], callKinds: ['manual', 'autodialed'] },
  service: { role: 'Supervisor', rights: ['look-up', 'records', 'consent'] },
}

export interface KeyOptions {
  readonly can?: string
  readonly projects?: string
  readonly kinds?: string
  readonly campaigns?: string
  readonly callerIds?: string
  readonly regions?: string
  readonly attemptsPerHour?: string
  readonly attemptsPerDay?: string
  readonly attemptsPerNumber?: string
  readonly coolDown?: string
  readonly concurrent?: string
  readonly approval?: ApprovalRule | 'any'
  readonly notBefore?: string
  readonly expires?: string
}

/** Each value may be `any`, which ends a limit. */
export function addKeyOptions(command: Command): Command {
  const list = (flags: string, text: string) =>
    command.addOption(new Option(flags, text).argParser(joinOptionValues))
  list('--can <rights>', `only these rights, separated by commas: ${rights.join(', ')}`)
  list('--projects <codes>', 'only these projects and their campaigns')
  list('--kinds <kinds>', `only calls of these kinds: ${callKinds.join(', ')}`)
  list('--campaigns <ids>', 'only calls of these campaigns')
  list(
    '--caller-ids <numbers>',
    'only calls from these numbers; valid: a valid number must be named',
  )
  list('--regions <codes>', 'only calls to these states and provinces, such as NY,NJ')
  return command
    .option('--attempts-per-hour <count>', 'at most so many allows in an hour')
    .option('--attempts-per-day <count>', 'at most so many allows in 24 hours')
    .option('--attempts-per-number <count>', 'at most so many allows for one number in 24 hours')
    .option('--cool-down <time>', 'between two allows for one number, such as 1h or 30m')
    .option('--concurrent <count>', 'at most so many calls in progress; each counts for two hours')
    .addOption(
      new Option('--approval <when>', 'which calls a person must approve').choices([
        ...approvalRules,
        'any',
      ]),
    )
    .option('--not-before <when>', 'when it becomes valid: a day, an instant, or a time from now')
    .option(
      '--expires <when>',
      'when it expires: 2027-01-31 (midnight UTC), an instant, or 90d, 12h, 30m',
    )
}

/** Only members whose option was given; `undefined` in them means no limit. */
export function parseKeyOptions(options: KeyOptions, now: Instant): KeyGrant {
  const words =
    <Word extends string>(name: string, known: readonly Word[]) =>
    (text: string) =>
      parseWords(name, text, known)
  const parts: KeyGrant = {
    ...read('rights', options.can, words('--can', rights)),
    ...read('projects', options.projects, splitList),
    ...read('callKinds', options.kinds, words('--kinds', callKinds)),
    ...read('notBefore', options.notBefore, (text) => parseWhen('--not-before', text, now)),
    ...read('expiresAt', options.expires, (text) => parseWhen('--expires', text, now)),
  }
  const calls: CallLimits = {
    ...read('campaigns', options.campaigns, (text) =>
      splitList(text).map(parseCount('--campaigns')),
    ),
    ...read('callerIds', options.callerIds, (text) => (text === 'valid' ? text : splitList(text))),
    ...read('regions', options.regions, splitList),
    ...read('attemptsPerHour', options.attemptsPerHour, parseCount('--attempts-per-hour')),
    ...read('attemptsPerDay', options.attemptsPerDay, parseCount('--attempts-per-day')),
    ...read(
      'attemptsPerNumberPerDay',
      options.attemptsPerNumber,
      parseCount('--attempts-per-number'),
    ),
    ...read('coolDownSeconds', options.coolDown, parseSeconds),
    ...read('concurrent', options.concurrent, parseCount('--concurrent')),
    ...read('approval', options.approval, (text) => text as ApprovalRule),
  }
  return Object.keys(calls).length === 0 ? parts : { ...parts, calls }
}

function read<Name extends string, Value>(
  name: Name,
  text: string | undefined,
  parse: (text: string) => Value,
): { readonly [name in Name]?: Value | undefined } {
  if (text === undefined) return {}
  const value = text.trim() === 'any' ? undefined : parse(text)
  return { [name]: value } as { [name in Name]?: Value }
}

const splitList = (text: string) => text.split(',').map((item) => item.trim())

const parseCount = (option: string) => (text: string) => {
  if (/^\d{1,9}$/.test(text.trim())) return Number(text)
  throw new CommandFailure(`${option} '${text}': must be a whole number, or any`, 2)
}

function parseSeconds(text: string): number {
  const ms = parseDuration(text.trim(), ['s', 'm', 'h', 'd'])
  if (ms !== undefined) return ms / 1000
  throw new CommandFailure(`--cool-down '${text}': must be a time such as 1h or 30m, or any`, 2)
}

function parseWhen(option: string, text: string, now: Instant): Instant {
  const ms = parseDuration(text.trim(), ['m', 'h', 'd'])
  const at = ms === undefined ? parseInstant(text) : now + ms
  if (at !== undefined) return at
  const rule =
    'must be a day such as 2027-01-31, an instant such as 2027-01-31T17:00:00Z, or a time'
  throw new CommandFailure(`${option} '${text}': ${rule} from now such as 90d, 12h or 30m`, 2)
}

/** What limits a key, for people; empty if nothing does. */
export function describeLimits(grant: KeyGrant): readonly string[] {
  const { rights: can, projects, callKinds: kinds, calls = {}, notBefore, expiresAt } = grant
  const { callerIds } = calls
  const lines: readonly (readonly [string, string | number | undefined])[] = [
    ['can', can?.length === rights.length ? undefined : can?.join(', ')],
    ['projects', projects?.join(', ')],
    ['kinds', kinds?.join(', ')],
    ['campaigns', calls.campaigns?.join(', ')],
    ['caller IDs', callerIds === 'valid' ? 'any valid number' : callerIds?.join(', ')],
    ['regions', calls.regions?.join(', ')],
    ['attempts an hour', calls.attemptsPerHour],
    ['attempts a day', calls.attemptsPerDay],
    ['attempts a number and day', calls.attemptsPerNumberPerDay],
    ['cool-down in seconds', calls.coolDownSeconds],
    ['calls in progress', calls.concurrent],
    ['approval by a person', calls.approval],
    ['not before', notBefore === undefined ? undefined : formatInstant(notBefore)],
    ['expires', expiresAt === undefined ? undefined : formatInstant(expiresAt)],
  ]
  return lines.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
}

/** An option that is given twice combines both values. */
function joinOptionValues(value: string, before: string | undefined): string {
  return before === undefined ? value : `${before},${value}`
}

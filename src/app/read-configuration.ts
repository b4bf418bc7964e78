/**
 * Reads and checks settings, calling rules and the facts of the sandbox. Parsing takes longer than the main
 * thread may be held, so a reload does it in a thread.
 */
import { join } from 'node:path'
import { checkSettings, resolveShippedFile, type SettingsInput } from '../config/load.js'
import { hashSecretFiles } from '../config/secret-file.js'
import type { Settings } from '../config/settings.js'
import { checkCallingRules } from '../data/calling-rules/calling-rules-schema.js'
import { loadOptOutReader } from '../data/files/opt-out-phrases.js'
import { readYamlFile } from '../data/files/yaml-file.js'
import { DataFileError, describeProblem } from '../errors.js'
import { keepRules } from '../gate/journal/recovery/kept-rules.js'
import { CallingRules } from '../law/calling-rules.js'
import { runInThread, type ThreadWork } from '../runtime/thread.js'
import { prepareClosures } from '../service/calling-hours/prepare-closures.js'
import { readSandboxFile } from '../service/sandbox/sandbox-file.js'
import {
  type Configuration,
  type ConfigurationChanges,
  type ConfigurationVersions,
  compareConfigurations,
  computeVersions,
  formatRules,
  keepUntilRestart,
  type ValueChange,
} from './configuration.js'

export interface CheckedConfiguration {
  readonly settings: Settings
  /** Every mistake, each with its field, value and rule. */
  readonly problems: readonly string[]
  /** Absent if there are problems. */
  readonly configuration?: Configuration
}

/** Reads the settings, and the calling rules and the sandbox that they name. Never throws for a mistake in them. */
export function readConfiguration(input: SettingsInput): CheckedConfiguration {
  const checked = checkSettings(input)
  const { settings } = checked
  const problems = [...checked.problems]
  const read = <T>(load: () => T): T | undefined => {
    try {
      return load()
    } catch (cause) {
      if (!(cause instanceof DataFileError || cause instanceof RangeError)) throw cause
      problems.push(cause.message)
      return undefined
    }
  }
  const document = read(() => readYamlFile(resolveShippedFile(settings.callingHours.rulesFile)))
  const rules = document === undefined ? undefined : checkCallingRules(document)
  if (rules && !rules.ok) {
    const { rulesFile } = settings.callingHours
    problems.push(...rules.problems.map((one) => `${rulesFile}: ${describeProblem(one)}`))
  }
  const sandboxFile = read(() => readSandboxFile(resolveShippedFile(settings.sandbox.file)))
  read(() => loadOptOutReader(resolveShippedFile(settings.optOuts.phrasesFile)))
  if (!rules?.ok || !sandboxFile) return { settings, problems }
  const prepared = new CallingRules(rules.document)
  problems.push(...listUnknownRuleDates(settings, prepared))
  problems.push(...listUnknownExceptions(settings, prepared))
  read(() => prepareClosures(prepared, settings.callingHours))
  if (problems.length > 0) return { settings, problems }
  return { settings, problems, configuration: { settings, rules: rules.document, sandboxFile } }
}

function listUnknownRuleDates(
  { optOuts, callingHours: { rulesFile } }: Settings,
  { revocation }: CallingRules,
): readonly string[] {
  const known = revocation.undatedRules.map(({ id }) => id)
  return optOuts.ruleDates
    .filter(({ rule }) => !known.includes(rule))
    .map(
      ({ rule }) =>
        `optOuts.ruleDates: '${rule}' must be a rule of ${rulesFile} with datedByOperator: ${known.join(', ') || 'there is none'}`,
    )
}

function listUnknownExceptions(
  { gate, callingHours: { rulesFile } }: Settings,
  { exceptions }: CallingRules,
): readonly string[] {
  const known = exceptions.rows.map(({ id }) => id)
  return gate.exceptions
    .filter(({ id }) => !known.includes(id))
    .map(
      ({ id }) =>
        `gate.exceptions: '${id}' must be an exception of ${rulesFile}: ${known.join(', ') || 'there is none'}`,
    )
}

export interface ReloadRequest {
  /** The settings file of `--config`, if given. */
  readonly file: string | undefined
  readonly inUse: Configuration
  /** Of the key and password files in use, as {@link hashSecretFiles} gives them. */
  readonly secrets: Readonly<Record<string, string>>
}

/** `next` is what to use from now on: settings that need a restart are as in use, and its rules are kept beside the journal. */
export type ReloadPlan =
  | { readonly problems: readonly string[] }
  | {
      readonly next: Configuration
      readonly changes: ConfigurationChanges
      /** Of `next`. */
      readonly versions: ConfigurationVersions
    }

function planReload({ file, inUse, secrets }: ReloadRequest): ReloadPlan {
  const { configuration: read, problems } = readConfiguration({ file })
  if (!read) return { problems }
  const next = { ...read, settings: keepUntilRestart(inUse.settings, read.settings) }
  keepRules(join(next.settings.dataDir, 'journal'), formatRules(next.rules))
  const { applied, needRestart } = compareConfigurations(inUse, read)
  const changed = listChangedSecrets(inUse.settings, secrets)
  const changes = { applied, needRestart: [...needRestart, ...changed] }
  return { next, changes, versions: computeVersions(next) }
}

/** Keys and passwords are read when the program starts. */
function listChangedSecrets(
  settings: Settings,
  inUse: Readonly<Record<string, string>>,
): readonly ValueChange[] {
  const now = hashSecretFiles(settings)
  return Object.keys(inUse)
    .filter((setting) => now[setting] !== inUse[setting])
    .map((field) => ({
      field,
      from: 'the file at the start',
      to: 'the file, which has changed since',
    }))
}

export const reloadWork: ThreadWork<undefined, ReloadRequest, ReloadPlan> = {
  module: import.meta.url,
  create: () => ({ handle: planReload, close: () => undefined }),
}

runInThread(reloadWork)

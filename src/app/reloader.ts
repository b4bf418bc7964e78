/** Takes changed settings, rules and sandbox facts over while the server runs; keeps those in use if they are wrong. */
import { deepFreeze } from '../config/load.js'
import { hashSecretFiles } from '../config/secret-file.js'
import { getErrorMessage } from '../errors.js'
import { listPolicyWarnings } from '../gate/build-policy.js'
import { startThread } from '../runtime/thread.js'
import type { Callgate } from './callgate.js'
import {
  type Configuration,
  type ConfigurationChanges,
  type ConfigurationVersions,
  toConfiguration,
} from './configuration.js'
import { type ReloadPlan, reloadWork } from './read-configuration.js'

/** With problems nothing has changed. */
export interface ReloadResult extends ConfigurationChanges {
  readonly problems: readonly string[]
  /** Of what is in use from now on. */
  readonly versions: ConfigurationVersions
}

export interface ReloaderOptions {
  /** The settings file of `--config`, if given. */
  readonly file: string | undefined
  /** Called after a change, in the same turn of the event loop. */
  readonly onReconfigured: (configuration: Configuration) => void
}

export class Reloader {
  readonly #callgate: Callgate
  readonly #options: ReloaderOptions
  /** Of the files that the start has read. */
  readonly #secrets: Readonly<Record<string, string>>
  #running: Promise<ReloadResult> | undefined
  #next: Promise<ReloadResult> | undefined

  constructor(callgate: Callgate, options: ReloaderOptions) {
    this.#callgate = callgate
    this.#options = options
    const { settings, metrics, versions } = callgate
    this.#secrets = hashSecretFiles(settings)
    metrics.setConfigurationVersions(versions)
  }

  /**
   * Reads the files and logs the result. Calls during a reload share the one that follows it, since the
   * files may have changed after they were read. Never rejects.
   */
  reload(): Promise<ReloadResult> {
    if (this.#next) return this.#next
    if (!this.#running) return this.#start()
    this.#next = this.#running.then(() => {
      this.#next = undefined
      return this.#start()
    })
    return this.#next
  }

  #start(): Promise<ReloadResult> {
    const running = this.#reload().finally(() => {
      this.#running = undefined
    })
    this.#running = running
    return running
  }

  async #reload(): Promise<ReloadResult> {
    const result = await this.#apply().catch((cause: unknown) =>
      this.#refuse([getErrorMessage(cause)]),
    )
    this.#callgate.metrics.setReloadSuccess(result.problems.length === 0)
    this.#log(result)
    return result
  }

  async #apply(): Promise<ReloadResult> {
    const plan = await this.#plan()
    if ('problems' in plan) return this.#refuse(plan.problems)
    const { next, changes, versions } = plan
    const unapproved = await this.#listUnapproved(next)
    if (unapproved.length > 0) return this.#refuse(unapproved)
    if (changes.applied.length > 0) {
      deepFreeze(next.settings)
      this.#callgate.reconfigure(next, versions)
      this.#options.onReconfigured(next)
      this.#callgate.metrics.setConfigurationVersions(versions)
    }
    return { problems: [], ...changes, versions: this.#callgate.versions }
  }

  /** Exceptions of the policy that need a second person, and have none. */
  async #listUnapproved({ settings }: Configuration): Promise<readonly string[]> {
    if (!settings.twoPeople.for.includes('allow-unknown')) return []
    const policy = await import('./changes/policy-changes.js')
    const unapproved = await policy.findUnapproved(settings, this.#callgate.storage.db)
    return unapproved.map((one) => `${policy.describeUnapproved(one)}: ${policy.howToApprove}`)
  }

  #refuse(problems: readonly string[]): ReloadResult {
    return { problems, applied: [], needRestart: [], versions: this.#callgate.versions }
  }

  async #plan(): Promise<ReloadPlan> {
    const { settings, data } = this.#callgate
    const thread = startThread(reloadWork, undefined)
    try {
      return await thread.ask({
        file: this.#options.file,
        secrets: this.#secrets,
        inUse: toConfiguration(settings, data),
      })
    } finally {
      await thread.close()
    }
  }

  #log({ problems, applied, needRestart }: ReloadResult): void {
    const { runtime, settings, versions } = this.#callgate
    const { log, clock } = runtime
    if (problems.length > 0) {
      log.error('the settings were not reloaded; the previous ones stay in use', {
        problems: problems.slice(0, maxLogged),
      })
      return
    }
    for (const change of applied.slice(0, maxLogged))
      log.info('a setting has changed', { ...change })
    for (const change of needRestart) {
      log.warn('a changed setting needs a restart and is not in use', { ...change })
    }
    log.info('the settings were reloaded', {
      changed: applied.length,
      needRestart: needRestart.length,
      versions,
    })
    if (applied.length === 0) return
    for (const warning of listPolicyWarnings(settings, clock.now())) log.warn(warning)
  }
}

/** A new edition of the calling rules may change, or get wrong, thousands of values. */
const maxLogged = 100

/**
 * Rows of the audit table for what is in files: which settings, calling rules and lists this server uses. Each is compared with the
 * latest row about it, at the start too, so that none is missing after a crash between its use and its row.
 */
import { hostname } from 'node:os'
import type { Callgate } from '../../app/callgate.js'
import { type ConfigurationVersions, describeSettings } from '../../app/configuration.js'
import { version } from '../../config/version.js'
import { splitListName } from '../../data/number-list/list-names.js'
import { mainAccountId } from '../../domain/caller.js'
import { formatDay, formatInstant } from '../../domain/time/dates.js'
import { BackgroundTask } from '../../service/background/background-task.js'
import { runTransaction } from '../../service/sql/account-transaction.js'
import { recordAudit } from '../../storage/audit/audit-log.js'

interface InUse {
  readonly accountId: string
  readonly action: string
  readonly subject: { readonly kind: string; readonly id: string }
  readonly version: string
  /** Only what differs from the row before is stored as before. */
  readonly more: Readonly<Record<string, unknown>>
}

export class AuditOfData {
  readonly #callgate: Callgate
  readonly #getVersions: () => ConfigurationVersions
  /** The version of each subject in its latest row. */
  readonly #recorded = new Map<string, string>()
  readonly #task: BackgroundTask
  #isStartRecorded = false

  constructor(callgate: Callgate, getVersions: () => ConfigurationVersions) {
    this.#callgate = callgate
    this.#getVersions = getVersions
    const { timers, log } = callgate.runtime
    this.#task = new BackgroundTask({
      run: () => this.#run(),
      timers,
      onError: (err) =>
        log.error('what this server uses could not be recorded; trying again', { err }),
    })
  }

  start(): void {
    this.#task.start()
    // A reload, and new lists.
    const everythingChanged = () => this.#task.wake()
    this.#callgate.changes.subscribe({ numbersChanged: () => undefined, everythingChanged })
  }

  close(): Promise<void> {
    return this.#task.close()
  }

  async #run(): Promise<number> {
    if (!this.#isStartRecorded) await this.#recordStart()
    this.#isStartRecorded = true
    for (const one of this.#listInUse()) {
      const key = `${one.subject.kind} ${one.subject.id}`
      if (this.#recorded.get(key) === one.version) continue
      await this.#record(one)
      this.#recorded.set(key, one.version)
    }
    return Number.POSITIVE_INFINITY
  }

  #recordStart(): Promise<void> {
    const { storage, runtime } = this.#callgate
    return runTransaction(storage, (transaction) =>
      recordAudit(transaction, {
        by: storage.author,
        accountId: mainAccountId,
        action: 'server.started',
        subject: { kind: 'server', id: hostname() },
        after: { version },
        at: runtime.clock.now(),
      }),
    )
  }

  #listInUse(): readonly InUse[] {
    const { settings, data } = this.#callgate
    const versions = this.#getVersions()
    const host = hostname()
    const { rulesFile } = settings.callingHours
    return [
      {
        accountId: mainAccountId,
        action: 'settings.in-use',
        subject: { kind: 'settings', id: host },
        version: versions.settings,
        more: describeSettings(settings),
      },
      {
        accountId: mainAccountId,
        action: 'rules.in-use',
        subject: { kind: 'rules', id: host },
        version: versions.rules,
        more: { file: rulesFile, asOf: formatDay(data.rules.document.about.asOf) },
      },
      ...data.lists.all().map(({ name, version, size, asOf }) => ({
        accountId: splitListName(name).owner,
        action: 'list.in-use',
        subject: { kind: 'list', id: name },
        version,
        more: { entries: size, asOf: formatInstant(asOf), host },
      })),
    ]
  }

  async #record({ accountId, action, subject, version, more }: InUse): Promise<void> {
    const { storage, runtime } = this.#callgate
    await runTransaction(storage, async (transaction) => {
      const last = await transaction
        .selectFrom('audit')
        .select('after')
        .where('subject', '=', subject.id)
        .where('subject_kind', '=', subject.kind)
        .where('action', '=', action)
        .orderBy('seq', 'desc')
        .limit(1)
        .executeTakeFirst()
      const previous = JSON.parse(last?.after ?? '{}')
      if (previous.version === version) return
      const after: Record<string, unknown> = { version, ...more }
      const changed = Object.keys(previous).filter((name) => previous[name] !== after[name])
      const before = Object.fromEntries(changed.map((name) => [name, previous[name]]))
      await recordAudit(transaction, {
        by: storage.author,
        accountId,
        action,
        subject,
        before: last && before,
        after,
        at: runtime.clock.now(),
      })
    })
  }
}

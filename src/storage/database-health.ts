/** Whether an open database can be trusted: its files, and what was found in its pages. */
import { AppError, getErrorCode } from '../errors.js'
import { type OpenedFile, OpenFiles } from './open-files.js'
import { type QuickCheck, startQuickCheck } from './quick-check.js'

interface HealthObserver {
  /** Why the database cannot be trusted from now on, or that it can again. */
  faultChanged(fault: string | undefined): void
}

export class DatabaseHealth {
  readonly #path: string
  readonly #files: OpenFiles
  readonly #observer: HealthObserver
  #check: QuickCheck | undefined
  /** By the last check of the pages. */
  #damage: string | undefined
  /** Found by a query. The check of the pages does not look everywhere that queries do. */
  #observedDamage: string | undefined
  #reported: string | undefined
  #isClosed = false

  constructor(path: string, files: readonly OpenedFile[], observer: HealthObserver) {
    this.#path = path
    this.#files = new OpenFiles(files)
    this.#observer = observer
  }

  /** Compares the files with their paths, and gives why the database cannot be trusted, for people. */
  check(): string | undefined {
    const fault = this.#findFault()
    if (fault === this.#reported) return fault
    this.#reported = fault
    this.#observer.faultChanged(fault)
    return fault
  }

  #findFault(): string | undefined {
    if (this.#isClosed) return this.#observedDamage ?? this.#damage
    const lost = this.#files.findLost()
    if (lost !== undefined) return describeLostFile(lost)
    if (this.#files.hasShrunk()) {
      this.#damage = `${this.#path}: the file became smaller; its pages are being checked`
      this.#check?.stop()
      this.#check = undefined
      void this.checkIntegrity().catch(() => undefined)
    }
    return this.#observedDamage ?? this.#damage
  }

  /** Damage that a statement finds remains until the program ends, whatever is read after it. */
  observeFailure(cause: unknown): void {
    this.#observedDamage ??= describeDamage(this.#path, cause)
    this.check()
  }

  /** Reads every page in another process. Rejects if that failed to run. */
  async checkIntegrity(): Promise<void> {
    if (this.#isClosed) return
    const check = startQuickCheck(this.#path)
    this.#check = check
    try {
      const damage = await check.damage
      if (this.#check === check) this.#setDamage(damage)
    } catch (cause) {
      if (this.#isClosed || this.#check !== check) return
      if (this.#damage !== undefined) this.#setDamage('its pages cannot be read')
      throw cause
    }
  }

  #setDamage(damage: string | undefined): void {
    this.#damage = damage && damageText(this.#path, damage)
    this.check()
  }

  /** Resolves once no other process has the database open for a check. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#check?.stop()
    await this.#check?.damage.catch(() => undefined)
    this.#files.close()
  }
}

/** What an error of SQLite says about the database, for people; `undefined` if it is not damaged. */
function describeDamage(path: string, cause: unknown): string | undefined {
  const isDamage = /^SQLITE_(?:CORRUPT|NOTADB)/.test(getErrorCode(cause) ?? '')
  return isDamage ? damageText(path, (cause as Error).message) : undefined
}

function damageText(path: string, damage: string): string {
  return (
    `${path}: the database is damaged (${damage}), so nothing is allowed or stored. ` +
    'Stop callgate and restore a backup'
  )
}

function describeLostFile(path: string): string {
  return (
    `${path}: the file was removed, replaced or emptied while callgate runs, so nothing is allowed or ` +
    'stored. Move the same file back, or restore a backup and restart callgate'
  )
}

/** Why the database cannot be trusted, as far as this thread knows. */
export class Faults implements HealthObserver {
  readonly #path: string
  #ofStore: string | undefined
  /** Found by a read of this thread; remains until the program ends. */
  #damage: string | undefined
  #onChange: (fault: string | undefined) => void = () => undefined

  constructor(path: string) {
    this.#path = path
  }

  find(): string | undefined {
    return this.#ofStore ?? this.#damage
  }

  /** Throws `not-available` if there is one. */
  refuse(): void {
    const fault = this.find()
    if (fault !== undefined) throw new AppError('not-available', fault)
  }

  onChange(listener: (fault: string | undefined) => void): void {
    this.#onChange = listener
  }

  faultChanged(fault: string | undefined): void {
    this.#ofStore = fault
    this.#onChange(this.find())
  }

  observeFailure(cause: unknown): void {
    this.#damage ??= describeDamage(this.#path, cause)
    this.#onChange(this.find())
  }
}

/** Whether an open database can be trusted: its files, and what was found in its pages. */
import { AppError, countLossFirst, getErrorCode, getErrorMessage } from '../errors.js'
import { type LostFile, type OpenedFile, OpenFiles } from './open-files.js'
import { type PageCheck, type PageCheckKind, startPageCheck } from './page-check.js'

interface HealthObserver {
  /** Why the database cannot be trusted from now on, or that it can again. */
  faultChanged(fault: string | undefined): void
}

export class DatabaseHealth {
  readonly #path: string
  readonly #files: OpenFiles
  readonly #observer: HealthObserver
  #check: PageCheck | undefined
  /** By the last check of the pages. */
  #damage: string | undefined
  /** Of the first statement that failed as it does over a damaged page: SQLite says the same when the disk fails to read one. */
  #readError: string | undefined
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
    if (this.#isClosed) return this.#damage ?? this.#readError
    const lost = this.#files.findLost()
    if (lost !== undefined) return describeLostFile(lost)
    if (this.#files.hasShrunk()) {
      this.#damage = `${this.#path}: the file became smaller; its pages are being checked`
      void this.checkIntegrity().catch(() => undefined)
    }
    return this.#damage ?? this.#readError
  }

  /** A read error keeps the database shut until the program ends. A check finds out whether it is damage. */
  observeFailure(cause: unknown): void {
    const readError = describeReadError(this.#path, cause)
    if (readError !== undefined && this.#readError === undefined) {
      this.#readError = readError
      void this.checkIntegrity('integrity_check').catch(() => undefined)
    }
    this.check()
  }

  /**
   * Reads every page in another process; `integrity_check` also compares indexes with their tables. Rejects if that failed to
   * run, as while the disk does not read.
   */
  async checkIntegrity(kind: PageCheckKind = 'quick_check'): Promise<void> {
    if (this.#isClosed) return
    this.#check?.stop()
    const check = startPageCheck(this.#path, kind)
    this.#check = check
    try {
      const damage = await check.damage
      if (this.#check === check) this.#setDamage(damage)
    } catch (cause) {
      if (this.#isClosed || this.#check !== check) return
      if (this.#damage !== undefined) {
        this.#damage = `${this.#path}: its pages cannot be checked: ${getErrorMessage(cause)}`
        this.check()
      }
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

/** For people; `undefined` unless SQLite could not read or understand a page. */
function describeReadError(path: string, cause: unknown): string | undefined {
  if (!/^SQLITE_(?:CORRUPT|NOTADB)/.test(getErrorCode(cause) ?? '')) return undefined
  return (
    `${path}: read errors (${(cause as Error).message}), so nothing is allowed or stored. ` +
    'Restart callgate: the start checks the database'
  )
}

/** By a check of all pages. */
const damageText = (path: string, damage: string): string =>
  `${path}: the database is damaged (${damage}), so nothing is allowed or stored. ` +
  `Stop callgate and restore a backup${countLossFirst}`

function describeLostFile({ path, cause }: LostFile): string {
  if (cause !== undefined) {
    const why = getErrorMessage(cause)
    return `${path}: the file cannot be read (${why}), so nothing is allowed or stored until it can`
  }
  return (
    `${path}: the file was removed, replaced or emptied while callgate runs, so nothing is allowed or ` +
    `stored. Move the same file back, or restore a backup${countLossFirst} and restart callgate`
  )
}

/** Why the database cannot be trusted, as far as this thread knows. */
export class Faults implements HealthObserver {
  readonly #path: string
  #ofStore: string | undefined
  /** Met by this thread; remains until the program ends. */
  #readError: string | undefined
  #onChange: (fault: string | undefined) => void = () => undefined

  constructor(path: string) {
    this.#path = path
  }

  find(): string | undefined {
    return this.#ofStore ?? this.#readError
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
    this.#readError ??= describeReadError(this.#path, cause)
    this.#onChange(this.find())
  }
}

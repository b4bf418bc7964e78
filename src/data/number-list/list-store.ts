/**
 * The number lists of a folder, in memory, with those of accounts as `acme/us-dnc`. A list is replaced as a whole and only by a verified file. A
 * damaged file is reported as a problem, never as an empty list. The caller decides when to check for
 * new files.
 */
import { mainAccountId } from '../../domain/caller.js'
import type { NumberSet } from '../../domain/number-set.js'
import { DataFileError, getErrorMessage } from '../../errors.js'
import {
  missingFileStamp,
  readFileStamp,
  readFileStampInBackground,
} from '../../runtime/folders.js'
import {
  type FileObservation,
  toFailedFile,
  toRemovedFile,
  type WatchedFile,
} from '../files/watched-file.js'
import {
  type NumberList,
  openNumberList,
  openNumberListInBackground,
} from './format/number-list.js'
import { readNumberListHeader } from './format/number-list-format.js'
import { affectsList, splitListName } from './list-names.js'
import {
  addFailure,
  type FoundLists,
  findListNames,
  findListNamesInBackground,
  resolveListFolder,
  resolveListPath,
  toNamePrefix,
} from './list-paths.js'

/** A file, or the whole folder, that cannot be used. */
export interface ListProblem {
  /** Absent when the folder itself cannot be read. */
  readonly name?: string
  readonly path: string
  readonly detail: string
  /** True while older content of the list is in use; false if the list is missing. */
  readonly olderInUse: boolean
}

/** Reads and verifies the file of a list. Throws `DataFileError` for a damaged one. */
export interface ListReader {
  open(path: string): NumberList
  openInBackground(path: string): Promise<NumberList>
}

const fileReader: ListReader = {
  open: openNumberList,
  openInBackground: openNumberListInBackground,
}

export interface ListStoreOptions {
  readonly folder: string
  readonly reader?: ListReader
}

/** Loads the lists of the folder, which may not exist yet. */
export function openListStore({ folder, reader = fileReader }: ListStoreOptions): ListStore {
  const store = new ListStore(folder, reader)
  store.refresh()
  return store
}

/** The only version of a list that may be used, since several servers share it. */
export interface ListInForce {
  readonly name: string
  readonly version: string
  /** For people: what is wrong while the folder does not have it. */
  readonly whenMissing: string
}

type KnownList = WatchedFile<NumberList>

interface ScanEntry extends FileObservation<NumberList> {
  /** Absent if the file must be read first. */
  readonly current: KnownList | undefined
}

/** The stamps of the files by the names of their lists, and which folders cannot be read, or why none can. */
type FolderObservation =
  | { readonly stamps: ReadonlyMap<string, string>; readonly failures: FoundLists['failures'] }
  | Error

interface FolderScan {
  readonly entries: readonly ScanEntry[]
  readonly folderProblems: readonly ListProblem[]
}

export class ListStore {
  readonly #folder: string
  readonly #reader: ListReader
  readonly #listeners = new Set<(names: readonly string[]) => void>()
  #known: ReadonlyMap<string, KnownList> = new Map()
  /** Of {@link #known}, what may be used. */
  #usable: ReadonlyMap<string, NumberSet> = new Map()
  #inForce: ReadonlyMap<string, ListInForce> = new Map()
  #needed: ReadonlySet<string> = new Set()
  #folderProblems: readonly ListProblem[] = []
  #problems: readonly ListProblem[] = []
  #inBackground: Promise<boolean> | undefined

  constructor(folder: string, reader: ListReader) {
    this.#folder = folder
    this.#reader = reader
  }

  /** The current list, or `undefined`; a missing list is not an empty one. */
  get(name: string): NumberSet | undefined {
    return this.#usable.get(name)
  }

  /** All lists, sorted by name. */
  all(): readonly NumberSet[] {
    return [...this.#usable.values()]
  }

  /** Lists that calls need, although they are not here. */
  get needed(): ReadonlySet<string> {
    return this.#needed
  }

  /**
   * Of the lists named here, no other version is used from now on. Lists that are not named are used as they are. For
   * `needed` see {@link ListStore.needed}.
   */
  setInForce(lists: readonly ListInForce[], needed: readonly string[] = []): void {
    const [before, neededBefore] = [this.#inForce, this.#needed]
    this.#inForce = new Map(lists.map((list) => [list.name, list]))
    this.#needed = new Set(needed)
    const names = [...new Set([...before.keys(), ...this.#inForce.keys()])]
    const changed = [
      ...names.filter((name) => before.get(name)?.version !== this.#inForce.get(name)?.version),
      ...needed.filter((name) => !neededBefore.has(name)),
      ...[...neededBefore].filter((name) => !this.#needed.has(name)),
    ]
    if (changed.length === 0) return
    this.#select()
    for (const listener of this.#listeners) listener(changed)
  }

  /** Whether the version of each list of {@link setInForce} is loaded, by name. */
  findInForce(): ReadonlyMap<string, boolean> {
    return new Map([...this.#inForce.keys()].map((name) => [name, this.#usable.has(name)]))
  }

  problems(): readonly ListProblem[] {
    return this.#problems
  }

  /**
   * Loads new and changed files of the folder; a list whose file was removed becomes a problem. Reads
   * synchronously, about a second per gigabyte, so use it only at startup. Returns whether lists or
   * problems changed.
   */
  refresh(): boolean {
    const look = this.#scan(this.#observe())
    const known = new Map<string, KnownList>()
    for (const entry of look.entries) {
      known.set(entry.name, this.#findLoaded(entry, known) ?? shareMemory(this.#read(entry), known))
    }
    return this.#adopt(look, known)
  }

  /**
   * Like {@link refresh}, but yields to other work while reading large files. Concurrent calls share
   * one run; its result is discarded if {@link refresh} is called in the meantime.
   */
  refreshInBackground(): Promise<boolean> {
    this.#inBackground ??= this.#readInBackground().finally(() => {
      this.#inBackground = undefined
    })
    return this.#inBackground
  }

  /** Calls `listener` after each change with the names of the changed lists; returns a function to stop. */
  onChange(listener: (names: readonly string[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #readInBackground(): Promise<boolean> {
    const before = this.#known
    const look = this.#scan(await this.#observeInBackground())
    const known = new Map<string, KnownList>()
    for (const entry of look.entries) {
      const loaded = this.#findLoaded(entry, known)
      known.set(entry.name, loaded ?? shareMemory(await this.#load(entry), known))
    }
    // If refresh was called in the meantime, it has loaded newer lists.
    return this.#known === before && this.#adopt(look, known)
  }

  /**
   * What needs no reading. Accounts whose lists are links to one file share its memory; `known` is what is loaded by now.
   */
  #findLoaded(entry: ScanEntry, known: ReadonlyMap<string, KnownList>): KnownList | undefined {
    const unread = entry.current ?? this.#keepInForce(entry)
    if (unread || entry.stamp === undefined) return unread
    for (const { stamp, content, problem } of known.values()) {
      // Beside a problem, the content is that of an earlier file.
      if (stamp === entry.stamp && content && !problem) return toLoaded(entry, content)
    }
    return undefined
  }

  #read(entry: ScanEntry): KnownList {
    try {
      return toLoaded(entry, this.#reader.open(entry.path))
    } catch (cause) {
      return toFailedFile(entry, cause)
    }
  }

  async #load(entry: ScanEntry): Promise<KnownList> {
    try {
      return toLoaded(entry, await this.#reader.openInBackground(entry.path))
    } catch (cause) {
      return toFailedFile(entry, cause)
    }
  }

  /**
   * While the file of another version waits to be put in force, the loaded one stays in use. The file is looked at
   * again until then.
   */
  #keepInForce({ name, path, previous }: ScanEntry): KnownList | undefined {
    const version = this.#inForce.get(name)?.version
    if (version === undefined || previous?.content?.version !== version) return undefined
    if (readVersion(path) === version) return undefined
    return previous.stamp === undefined ? previous : { ...previous, stamp: undefined }
  }

  #observe(): FolderObservation {
    try {
      const { names, failures } = findListNames(this.#folder)
      const stamps = new Map<string, string>()
      for (const name of this.#listNames(names, failures)) {
        try {
          stamps.set(name, readFileStamp(this.#resolvePath(name)))
        } catch (cause) {
          this.#addFailure(failures, name, cause)
        }
      }
      return { stamps, failures }
    } catch (cause) {
      return new Error(messageOf(cause))
    }
  }

  /** Like {@link #observe}, but does not wait for the disk. */
  async #observeInBackground(): Promise<FolderObservation> {
    try {
      const { names, failures } = await findListNamesInBackground(this.#folder)
      const stamps = new Map<string, string>()
      for (const name of this.#listNames(names, failures)) {
        try {
          stamps.set(name, await readFileStampInBackground(this.#resolvePath(name)))
        } catch (cause) {
          this.#addFailure(failures, name, cause)
        }
      }
      return { stamps, failures }
    } catch (cause) {
      return new Error(messageOf(cause))
    }
  }

  /** The folder of an account can be read, but not what is in it. Throws for that of account main. */
  #addFailure(failures: Map<string, Error>, name: string, cause: unknown): void {
    if (splitListName(name).owner === mainAccountId) throw cause
    addFailure(failures, resolveListFolder(this.#folder, name), cause)
  }

  /** Of the files, and of the lists in use whose folder can be read. */
  #listNames(ofFiles: readonly string[], failures: FoundLists['failures']): readonly string[] {
    const known = [...this.#known.keys()].filter((name) => !this.#isUnreadable(name, failures))
    return [...new Set([...ofFiles, ...known])].sort()
  }

  #isUnreadable(name: string, failures: FoundLists['failures']): boolean {
    const paths = [...failures.keys()]
    return paths.some((path) => affectsList(toNamePrefix(this.#folder, path), name))
  }

  /** The lists in use of a folder that cannot be read are unchanged. */
  #scan(observed: FolderObservation): FolderScan {
    const keep = (isKept: (name: string) => boolean) =>
      [...this.#known].flatMap(([name, known]) =>
        isKept(name) ? [this.#toUnchanged(name, known)] : [],
      )
    if (observed instanceof Error) {
      const olderInUse = this.all().length > 0
      const problem = { path: this.#folder, detail: observed.message, olderInUse }
      return { entries: keep(() => true), folderProblems: [problem] }
    }
    const { stamps, failures } = observed
    const entries = [...stamps].flatMap(([name, stamp]) => this.#scanEntry(name, stamp) ?? [])
    const kept = keep((name) => this.#isUnreadable(name, failures))
    const folderProblems = [...failures].map(([path, { message: detail }]): ListProblem => {
      const name = toNamePrefix(this.#folder, path)
      return { name, path, detail, olderInUse: kept.some((one) => affectsList(name, one.name)) }
    })
    return { entries: [...entries, ...kept], folderProblems }
  }

  #scanEntry(name: string, stamp: string): ScanEntry | undefined {
    const path = this.#resolvePath(name)
    const previous = this.#known.get(name)
    if (previous && previous.stamp === stamp) return this.#toUnchanged(name, previous)
    if (stamp !== missingFileStamp) return { name, path, stamp, previous, current: undefined }
    return (
      previous && { name, path, stamp, previous, current: toRemovedFile(name, path, 'the list') }
    )
  }

  #toUnchanged(name: string, known: KnownList): ScanEntry {
    const path = this.#resolvePath(name)
    return { name, path, stamp: known.stamp, previous: known, current: known }
  }

  #resolvePath(name: string): string {
    return resolveListPath(this.#folder, name)
  }

  /** Replaces all lists at once, then calls the listeners. */
  #adopt({ folderProblems }: FolderScan, known: ReadonlyMap<string, KnownList>): boolean {
    const before = this.#known
    const problemsBefore = JSON.stringify(this.#folderProblems)
    this.#known = known
    this.#folderProblems = folderProblems
    this.#select()
    const changed = [...known.keys()].filter((name) => before.get(name) !== known.get(name))
    const hasSameProblems = problemsBefore === JSON.stringify(folderProblems)
    if (changed.length === 0 && hasSameProblems) return false
    for (const listener of this.#listeners) listener(changed)
    return true
  }

  /** A list that is not in force is like one that is missing. */
  #select(): void {
    const usable = new Map<string, NumberSet>()
    const problems: ListProblem[] = [...this.#folderProblems]
    for (const name of [...new Set([...this.#known.keys(), ...this.#inForce.keys()])].sort()) {
      const { content, problem } = this.#known.get(name) ?? {}
      const inForce = this.#inForce.get(name)
      if (inForce && content?.version !== inForce.version) {
        const detail = problem ? `${inForce.whenMissing} (${problem.detail})` : inForce.whenMissing
        problems.push({ name, path: this.#resolvePath(name), detail, olderInUse: false })
        continue
      }
      if (content) usable.set(name, content)
      if (problem) problems.push(problem)
    }
    this.#usable = usable
    this.#problems = problems
  }
}

/** Copies of a file, as a restored backup has in the place of links, are in memory once. */
function shareMemory(loaded: KnownList, known: ReadonlyMap<string, KnownList>): KnownList {
  const { content } = loaded
  for (const other of known.values()) {
    if (!content || loaded.problem || other.content?.version !== content.version) continue
    return { ...loaded, content: other.content.withName(content.name) }
  }
  return loaded
}

/** `undefined` for a file that is missing or damaged. */
function readVersion(path: string): string | undefined {
  try {
    return readNumberListHeader(path).version
  } catch {
    return undefined
  }
}

function toLoaded(entry: ScanEntry, content: NumberList): KnownList {
  const { name, path, stamp } = entry
  const contained = splitListName(content.name).list
  if (contained === splitListName(name).list) {
    return { stamp, content: content.withName(name), problem: undefined }
  }
  return toFailedFile(entry, new DataFileError(path, `contains the list '${contained}'`))
}

function messageOf(cause: unknown): string {
  return getErrorMessage(cause)
}

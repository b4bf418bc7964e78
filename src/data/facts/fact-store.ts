/**
 * The fact files of a folder, open for reading. A file is replaced whole and only by one that can
 * be used; a damaged one is told as a problem while the older content goes on answering. When to
 * look for new files is the caller's business.
 */
import { statSync } from 'node:fs'
import type { Instant } from '../../domain/clock.js'
import { DataFileError } from '../../errors.js'
import { type FactFile, openFactFile } from '../../storage/fact-file.js'
import type { FactRow, FactShape } from '../../storage/fact-shape.js'
import {
  type FactFeedName,
  type FactOf,
  factFeedNames,
  factFeeds,
  factFilePath,
} from './fact-feeds.js'

export interface FactProblem {
  readonly feed: FactFeedName
  readonly path: string
  readonly detail: string
  /** True while an older content of the feed still answers. */
  readonly olderInUse: boolean
}

export interface FactsInUse {
  readonly name: FactFeedName
  readonly entries: number
  readonly asOf: Instant
}

export interface FactStore {
  /**
   * The feed as it is now, or `undefined`: no file is no fact. Not to be kept across turns of the
   * event loop: the next {@link refresh} may close it.
   */
  get<Name extends FactFeedName>(feed: Name): FactFile<FactOf<Name>> | undefined
  /** The feeds there are, for readiness and metrics. */
  all(): readonly FactsInUse[]
  problems(): readonly FactProblem[]
  /**
   * Opens what is new or changed, at the cost of a few pages each however large the files are. True
   * when feeds or problems changed.
   */
  refresh(): boolean
  close(): void
}

export interface FactStoreOptions {
  readonly folder: string
}

/** Opens the files there are. A folder that does not exist yet holds none. */
export function openFactStore({ folder }: FactStoreOptions): FactStore {
  const store = new FolderOfFacts(folder)
  store.refresh()
  return store
}

/** What is known of a feed for which there is or was a file. */
interface Known {
  /** Tells the state of the file that was judged; `undefined` when looking itself failed. */
  readonly stamp: string | undefined
  readonly file: FactFile<FactRow> | undefined
  readonly problem: FactProblem | undefined
}

class FolderOfFacts implements FactStore {
  readonly #folder: string
  readonly #known = new Map<FactFeedName, Known>()

  constructor(folder: string) {
    this.#folder = folder
  }

  get<Name extends FactFeedName>(feed: Name): FactFile<FactOf<Name>> | undefined {
    return this.#known.get(feed)?.file as FactFile<FactOf<Name>> | undefined
  }

  all(): readonly FactsInUse[] {
    return [...this.#known].flatMap(([name, { file }]) =>
      file ? [{ name, entries: file.info.entries, asOf: file.info.asOf }] : [],
    )
  }

  problems(): readonly FactProblem[] {
    return [...this.#known].flatMap(([feed, { file, problem }]) => {
      if (problem) return [problem]
      if (file?.damage === undefined) return []
      return [{ feed, path: file.path, detail: file.damage, olderInUse: false }]
    })
  }

  refresh(): boolean {
    let changed = false
    for (const feed of factFeedNames) {
      const before = this.#known.get(feed)
      const now = this.#look(feed, before)
      if (!now || now === before) continue
      this.#known.set(feed, now)
      if (before?.file !== now.file) before?.file?.close()
      changed = true
    }
    return changed
  }

  close(): void {
    for (const { file } of this.#known.values()) file?.close()
    this.#known.clear()
  }

  #look(feed: FactFeedName, before: Known | undefined): Known | undefined {
    const path = factFilePath(this.#folder, feed)
    let stamp: string | undefined
    try {
      stamp = stampOf(path)
      if (stamp === before?.stamp) return before
      if (stamp === missing) return before && removed(feed, path)
      const shape: FactShape<FactRow> = factFeeds[feed].shape
      return { stamp, file: openFactFile(path, shape), problem: undefined }
    } catch (cause) {
      // What is wrong with the file stays so until it changes; all else may pass.
      const judged = cause instanceof DataFileError ? stamp : undefined
      const detail = cause instanceof Error ? cause.message : String(cause)
      return unusable({ feed, path, detail }, { stamp: judged, before })
    }
  }
}

function unusable(
  problem: Omit<FactProblem, 'olderInUse'>,
  { stamp, before }: { readonly stamp: string | undefined; readonly before: Known | undefined },
): Known {
  const file = before?.file
  if (before && before.stamp === stamp && before.problem?.detail === problem.detail) return before
  return { stamp, file, problem: { ...problem, olderInUse: file !== undefined } }
}

/** Without its file a feed answers nothing: whether it is meant to be gone is not ours to guess. */
function removed(feed: FactFeedName, path: string): Known {
  const detail =
    `${path}: was removed while the server ran; import it again, ` +
    'or restart the server to go without it'
  return {
    stamp: missing,
    file: undefined,
    problem: { feed, path, detail, olderInUse: false },
  }
}

/** The stamp of a file that is not there. */
const missing = 'missing'

/** Differs for every file that was ever put in this place. */
function stampOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found ? `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}` : missing
}

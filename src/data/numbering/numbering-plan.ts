/**
 * Finds the facts of a number: from the imported prefixes of its country and the thousands blocks, if
 * there are any; otherwise, unless switched off, from its area code alone. Prefixes are joined with the
 * company classes when they are loaded. A lookup is one array read, or two if the blocks of the prefix
 * differ. {@link PortAwarePlan} adds ports.
 */

import type { ListVersion, NumberSet } from '../../domain/number-set.js'
import { isTollFree, type PhoneNumber, toPhoneNumber } from '../../domain/phone-number.js'
import type {
  Country,
  NumberFacts,
  NumberingCoverage,
  NumberingPlan,
  PortingRecord,
} from '../../domain/place.js'
import { formatDay, msPerDay } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import { findAreaCode } from '../../law/area-codes.js'
import { portedListNames } from '../number-list/list-names.js'
import {
  computeFingerprint,
  computeFingerprintInBackground,
  listBlockedCountries,
  listMissingVersions,
  loadNumbering,
  loadNumberingInBackground,
  type NumberingFiles,
  type NumberingInForce,
  type NumberingProblem,
} from './numbering-files.js'
import type { SplitPrefix } from './prefix-blocks.js'

export interface NumberingPlanOptions {
  /** Folder of the prepared files; may be empty or missing. */
  readonly folder: string
  /** How to resolve a country without imported prefixes: by area code alone, or not at all. */
  readonly unknownPrefix: 'area-code' | 'strict'
}

/**
 * Never throws because of the files. A country whose prepared files are damaged or unreadable is
 * blocked: its numbers are unknown until a good file replaces the damaged one.
 */
export function openNumberingPlan(options: NumberingPlanOptions): ReloadableNumberingPlan {
  return new ReloadableNumberingPlan(options)
}

export class ReloadableNumberingPlan implements NumberingPlan {
  readonly #options: NumberingPlanOptions
  #files: NumberingFiles
  #inForce: NumberingInForce = new Map()
  #problems: readonly NumberingProblem[] = []
  /** The blocked countries, with the problem of their files. */
  #blocked: ReadonlyMap<Country, string> = new Map()
  /** By area code and exchange, filled on first use; facts are shared where possible. */
  #facts: (NumberFacts | SplitPrefix | undefined)[][] = []
  #areaCodes = new Map<string, AreaCodeFacts>()
  #fingerprint: string

  constructor(options: NumberingPlanOptions) {
    this.#options = options
    this.#fingerprint = computeFingerprint(options.folder)
    this.#files = loadNumbering(options.folder)
    this.#select()
  }

  lookup(number: PhoneNumber): NumberFacts {
    const prefix = Number(number.slice(0, 6))
    const exchange = prefix % 1000
    const areaCode = (prefix - exchange) / 1000
    const facts = this.#facts[areaCode]?.[exchange] ?? this.#resolve(number, areaCode, exchange)
    return facts.status === 'split' ? selectBlock(facts, number) : facts
  }

  coverage(): Readonly<Record<Country, NumberingCoverage>> {
    return { US: this.#coverageOf('US'), CA: this.#coverageOf('CA') }
  }

  /** The prepared files that cannot be used. */
  problems(): readonly NumberingProblem[] {
    return this.#problems
  }

  /**
   * Of the files named here, no other version is used from now on: without it, the numbers that it describes are
   * unknown. Files that are not named are used as they are.
   */
  setInForce(inForce: NumberingInForce): void {
    const before = [...this.#inForce].map(([path, { sha256 }]) => `${path} ${sha256}`)
    const after = [...inForce].map(([path, { sha256 }]) => `${path} ${sha256}`)
    if (before.join() === after.join()) return
    this.#inForce = inForce
    // Its file may already be in the folder.
    this.#fingerprint = ''
    this.#select()
  }

  get inForce(): NumberingInForce {
    return this.#inForce
  }

  /** Whether the version of each file of {@link setInForce} is loaded, by path. */
  findInForce(): ReadonlyMap<string, boolean> {
    const { digests } = this.#files
    return new Map(
      [...this.#inForce].map(([path, { sha256 }]) => [path, digests.get(path) === sha256]),
    )
  }

  /**
   * Reloads if a prepared file has changed; resolves to whether it did. Costs four file stats, and
   * yields to other work while reading. A damaged file becomes a problem, and the facts in use are kept.
   * Rejects if a file cannot be read, and retries on the next call. Calls must not overlap.
   */
  async reloadIfChanged(): Promise<boolean> {
    const { folder } = this.#options
    const found = await computeFingerprintInBackground(folder)
    if (found === this.#fingerprint) return false
    const inForce = this.#inForce
    this.#files = await loadNumberingInBackground(folder, this.#files, inForce)
    // If another version was put in force meanwhile, its file may be one that was not taken.
    this.#fingerprint = inForce === this.#inForce ? found : ''
    this.#select()
    return true
  }

  #select(): void {
    const missing = listMissingVersions(this.#inForce, this.#files)
    this.#problems = [...this.#files.problems, ...missing]
    this.#blocked = listBlockedCountries(this.#problems)
    this.#areaCodes = new Map()
    this.#facts = []
  }

  #coverageOf(country: Country): NumberingCoverage {
    const imported = this.#files.imported.get(country)
    if (this.#blocked.has(country)) return { mode: 'damaged', prefixes: 0, asOf: undefined }
    if (imported) {
      const { blocks: known } = this.#files
      const blocks = country === 'US' && known ? { blocks: known.size } : {}
      return { mode: 'imported', prefixes: imported.size, asOf: imported.asOf, ...blocks }
    }
    return { mode: this.#options.unknownPrefix, prefixes: 0, asOf: undefined }
  }

  #resolve(number: PhoneNumber, areaCode: number, exchange: number): NumberFacts | SplitPrefix {
    const facts = this.#resolveListed(areaCode * 1000 + exchange) ?? this.#resolveUnlisted(number)
    this.#facts[areaCode] ??= new Array(1000)
    this.#facts[areaCode][exchange] = facts
    return facts
  }

  #resolveListed(prefix: number): NumberFacts | SplitPrefix | undefined {
    for (const [country, imported] of this.#files.imported) {
      const facts = this.#blocked.has(country) ? undefined : imported.find(prefix)
      if (facts && country === 'US') return this.#files.blocks?.split(prefix, facts) ?? facts
      if (facts) return facts
    }
    return undefined
  }

  #resolveUnlisted(number: PhoneNumber): NumberFacts {
    const code = number.slice(0, 3)
    let facts = this.#areaCodes.get(code)
    if (!facts) {
      facts = this.#areaCodeFacts(code)
      this.#areaCodes.set(code, facts)
    }
    return isPossibleExchange(number.slice(3, 6), facts.country) ? facts.possible : facts.impossible
  }

  #areaCodeFacts(code: string): AreaCodeFacts {
    if (isTollFree(toPhoneNumber(`${code}5550100`))) return toSameFacts({ status: 'toll-free' })
    const known = findAreaCode(code)
    if (known?.kind === 'geographic') {
      const { place } = known
      return this.#geographicFacts(code, place.country, {
        status: 'ok',
        place,
        locality: '',
        carrier: undefined,
        lineClass: 'unknown',
        originalClass: 'unknown',
      })
    }
    const says = [explainUnknown(code, known)]
    const served = [...this.#files.imported.values()].some((imported) => imported.hasAreaCode(code))
    return toSameFacts({
      status: 'unknown-prefix',
      says,
      areaCodeInUse: served || known !== undefined,
    })
  }

  #geographicFacts(code: string, country: Country, byAreaCode: NumberFacts): AreaCodeFacts {
    const unknown = (said: Said): NumberFacts => ({
      status: 'unknown-prefix',
      says: [said],
      areaCodeInUse: true,
    })
    const damage = this.#blocked.get(country)
    if (damage !== undefined) {
      const said = { code: 'prefixes-unusable', params: { country }, quote: damage } as const
      return { country, ...toSameFacts(unknown(said)) }
    }
    const imported = this.#files.imported.get(country)
    if (imported) {
      const { asOf } = imported
      const params = { areaCode: code }
      const said: Said =
        asOf === undefined
          ? { code: 'not-an-exchange', params }
          : {
              code: 'not-an-exchange-as-of',
              params: { ...params, asOf: formatDay(asOf / msPerDay) },
            }
      return { country, ...toSameFacts(unknown(said)) }
    }
    if (this.#options.unknownPrefix === 'strict') {
      return { country, ...toSameFacts(unknown({ code: 'no-prefixes', params: { country } })) }
    }
    const impossible = unknown({ code: 'exchange-impossible', params: { areaCode: code } })
    return { country, possible: byAreaCode, impossible }
  }
}

/** The facts of a prefix that is in no import, depending on whether its exchange can be assigned. */
interface AreaCodeFacts {
  readonly country?: Country
  readonly possible: NumberFacts
  readonly impossible: NumberFacts
}

function toSameFacts(facts: NumberFacts): AreaCodeFacts {
  return { possible: facts, impossible: facts }
}

function explainUnknown(areaCode: string, known: ReturnType<typeof findAreaCode>): Said {
  if (known?.kind === 'other-country') {
    return { code: 'area-code-of-country', params: { areaCode, country: known.country } }
  }
  if (known) return { code: 'area-code-of-service', params: { areaCode } }
  return { code: 'area-code-not-in-service', params: { areaCode } }
}

function selectBlock({ byBlock }: SplitPrefix, number: PhoneNumber): NumberFacts {
  const facts = byBlock[number.charCodeAt(6) - 48]
  if (!facts) throw new RangeError('the seventh character of a number must be a digit')
  return facts
}

/** Exchanges that are never assigned: services, tests, directory assistance and fictional numbers. */
const reservedExchanges: ReadonlySet<string> = new Set(['555', '700', '950', '958', '959', '976'])

/** Canada's province-wide seven-digit service codes, which have no place. */
const canadianServices: ReadonlySet<string> = new Set(['310', '610', '710', '810'])

function isPossibleExchange(exchange: string, country: Country | undefined): boolean {
  if (!/^[2-9]\d\d$/.test(exchange) || exchange.endsWith('11')) return false
  if (country === 'CA' && canadianServices.has(exchange)) return false
  return !reservedExchanges.has(exchange)
}

/** The part of the list store that is needed here. */
export interface PortedLists {
  get(name: string): NumberSet | undefined
  /** Lists whose file cannot be used. A problem without a name affects the whole folder. */
  problems(): readonly { readonly name?: string }[]
  /** `listener` is called after each change of lists or problems. */
  onChange(listener: () => void): () => void
}

export interface PortOptions {
  /** Whether a list is too old; called on each lookup. */
  isStale(list: ListVersion): boolean
}

type InServiceFacts = NumberFacts & { readonly status: 'ok' }

/** The facts of one prefix or block after each kind of port. */
type PortedVariants = Partial<Record<PortingRecord['to'] | 'inDoubt', InServiceFacts>>

/**
 * A numbering plan with ports applied: the current kind of line of a number, not only the one its
 * prefix or block was assigned for. Of the two lists, the one of numbers ported to wireless takes
 * precedence. If a list is too old or unreadable, no number that it covers is treated as a landline.
 * Without these lists, the facts are those of `plan`.
 *
 * Numbers that are not ported share the facts object of their prefix or block, and so do ported numbers
 * of the same prefix and direction, unless the day of the port is known.
 */
export class PortAwarePlan implements NumberingPlan {
  readonly #plan: NumberingPlan
  readonly #lists: PortedLists
  readonly #isStale: PortOptions['isStale']
  readonly #variants = new WeakMap<InServiceFacts, PortedVariants>()
  #toWireless: NumberSet | undefined
  #toWireline: NumberSet | undefined
  /** Whether one of the lists is unreadable, so that it is not even known which numbers it covers. */
  #isUnusable = false
  /** Stops following changes of the lists. */
  readonly close: () => void

  constructor(plan: NumberingPlan, lists: PortedLists, { isStale }: PortOptions) {
    this.#plan = plan
    this.#lists = lists
    this.#isStale = isStale
    this.#loadLists()
    this.close = lists.onChange(() => this.#loadLists())
  }

  lookup(number: PhoneNumber): NumberFacts {
    const facts = this.#plan.lookup(number)
    if (facts.status !== 'ok') return facts
    // A list that does not cover the area code is treated as absent.
    const toWireless = this.#toWireless?.covers(number) ? this.#toWireless : undefined
    const toWireline = this.#toWireline?.covers(number) ? this.#toWireline : undefined
    if (!toWireless && !toWireline && !this.#isUnusable) return facts
    const isWirelessStale = toWireless !== undefined && this.#isStale(toWireless)
    if (!isWirelessStale && toWireless?.has(number)) {
      return this.#toPorted(facts, 'wireless', toWireless.dayOf?.(number))
    }
    const isInDoubt =
      isWirelessStale || this.#isUnusable || (toWireline !== undefined && this.#isStale(toWireline))
    if (isInDoubt) return this.#toDoubtful(facts)
    if (!toWireline?.has(number)) return facts
    return this.#toPorted(facts, 'wireline', toWireline.dayOf?.(number))
  }

  coverage(): ReturnType<NumberingPlan['coverage']> {
    return this.#plan.coverage()
  }

  #loadLists(): void {
    const { wireless, wireline } = portedListNames
    this.#toWireless = this.#lists.get(wireless)
    this.#toWireline = this.#lists.get(wireline)
    const problems = this.#lists.problems()
    const isUnusable = (name: string, list: NumberSet | undefined) =>
      !list && problems.some((problem) => problem.name === undefined || problem.name === name)
    this.#isUnusable =
      isUnusable(wireless, this.#toWireless) || isUnusable(wireline, this.#toWireline)
  }

  #toPorted(
    facts: InServiceFacts,
    to: PortingRecord['to'],
    on: PortingRecord['on'],
  ): InServiceFacts {
    if (on !== undefined) return { ...facts, lineClass: to, ported: { to, on } }
    const variants = this.#variantsOf(facts)
    variants[to] ??= { ...facts, lineClass: to, ported: { to, on } }
    return variants[to]
  }

  /** Facts of unknown class; a wireless line stays wireless, since that is already the strictest class. */
  #toDoubtful(facts: InServiceFacts): InServiceFacts {
    if (facts.lineClass === 'wireless' || facts.lineClass === 'unknown') return facts
    const variants = this.#variantsOf(facts)
    variants.inDoubt ??= { ...facts, lineClass: 'unknown' }
    return variants.inDoubt
  }

  #variantsOf(facts: InServiceFacts): PortedVariants {
    const known = this.#variants.get(facts)
    if (known) return known
    const variants: PortedVariants = {}
    this.#variants.set(facts, variants)
    return variants
  }
}

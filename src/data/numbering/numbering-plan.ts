/**
 * Answers what is known of a number: from the imported list of its prefix where its country has
 * one, and of its thousands block where those are imported too; else, unless that is switched off,
 * from its area code alone. Imported lists are joined with the company classes when they are loaded;
 * a look-up is one array read, and a second one where the blocks of a prefix differ.
 */
import { formatDay } from '../../domain/clock.js'
import { isTollFree, type PhoneNumber, phoneNumber } from '../../domain/phone-number.js'
import type { Country, NumberFacts, NumberingPlan, PlanCoverage } from '../../domain/place.js'
import { areaCode } from './area-codes.js'
import {
  blockedCountries,
  fingerprint,
  loadNumbering,
  loadNumberingInBackground,
  type NumberingFiles,
  type NumberingProblem,
} from './numbering-files.js'
import type { SplitPrefix } from './prefix-blocks.js'

export interface NumberingPlanOptions {
  /** Holds the prepared files; may be empty or missing. */
  readonly folder: string
  /** What to make of a country without an imported list: its area codes alone, or nothing. */
  readonly unknownPrefix: 'area-code' | 'strict'
}

export interface ReloadableNumberingPlan extends NumberingPlan {
  /** The prepared files that cannot be used; empty when all is well. */
  problems(): readonly NumberingProblem[]
  /**
   * Reloads when a prepared file is another one than before, and says whether it did. Costs four
   * file stats, and while the files are read other work gets its turn. A damaged file leaves what is
   * in use as it is and is among the problems; rejects when a file cannot be read, and then tries
   * again at the next call. Calls must not overlap.
   */
  reloadIfChanged(): Promise<boolean>
}

/**
 * Never throws for the files: a country whose prepared files are damaged or cannot be read is
 * blocked, which means that its numbers are unknown until a good file replaces the damaged one.
 */
export function openNumberingPlan(options: NumberingPlanOptions): ReloadableNumberingPlan {
  return new LoadedNumberingPlan(options)
}

const firstAreaCode = 200
const slotCount = 800_000

const newFacts = () => new Array<NumberFacts | SplitPrefix | undefined>(slotCount)

class LoadedNumberingPlan implements ReloadableNumberingPlan {
  readonly #options: NumberingPlanOptions
  #files: NumberingFiles
  /** What is wrong with the files of each country that is blocked. */
  #blocked: ReadonlyMap<Country, string>
  /** One slot per prefix, filled when first asked for; facts are shared where they can be. */
  #facts = newFacts()
  #areaCodes = new Map<string, AreaCodeFacts>()
  #seenFiles: string

  constructor(options: NumberingPlanOptions) {
    this.#options = options
    this.#seenFiles = fingerprint(options.folder)
    this.#files = loadNumbering(options.folder)
    this.#blocked = blockedCountries(this.#files.problems)
  }

  lookup(number: PhoneNumber): NumberFacts {
    const slot = slotOf(number)
    const facts = this.#facts[slot] ?? this.#resolve(number, slot)
    return facts.status === 'split' ? ofBlock(facts, number) : facts
  }

  coverage(): Readonly<Record<Country, PlanCoverage>> {
    return { US: this.#coverageOf('US'), CA: this.#coverageOf('CA') }
  }

  problems(): readonly NumberingProblem[] {
    return this.#files.problems
  }

  async reloadIfChanged(): Promise<boolean> {
    const { folder } = this.#options
    const found = fingerprint(folder)
    if (found === this.#seenFiles) return false
    this.#files = await loadNumberingInBackground(folder, this.#files)
    this.#seenFiles = found
    this.#blocked = blockedCountries(this.#files.problems)
    this.#areaCodes = new Map()
    this.#facts = newFacts()
    return true
  }

  #coverageOf(country: Country): PlanCoverage {
    const imported = this.#files.imported.get(country)
    if (this.#blocked.has(country)) return { mode: 'damaged', prefixes: 0, asOf: undefined }
    if (imported) {
      const { blocks: known } = this.#files
      const blocks = country === 'US' && known ? { blocks: known.size } : {}
      return { mode: 'imported', prefixes: imported.size, asOf: imported.asOf, ...blocks }
    }
    return { mode: this.#options.unknownPrefix, prefixes: 0, asOf: undefined }
  }

  #resolve(number: PhoneNumber, slot: number): NumberFacts | SplitPrefix {
    const facts = this.#listed(Number(number.slice(0, 6))) ?? this.#unlisted(number)
    if (slot >= 0) this.#facts[slot] = facts
    return facts
  }

  #listed(prefix: number): NumberFacts | SplitPrefix | undefined {
    for (const [country, imported] of this.#files.imported) {
      const facts = imported.find(prefix)
      if (facts && country === 'US') return this.#files.blocks?.split(prefix, facts) ?? facts
      if (facts) return facts
    }
    return undefined
  }

  #unlisted(number: PhoneNumber): NumberFacts {
    const code = number.slice(0, 3)
    let facts = this.#areaCodes.get(code)
    if (!facts) {
      facts = this.#areaCodeFacts(code)
      this.#areaCodes.set(code, facts)
    }
    return isPossibleExchange(number.slice(3, 6), facts.country) ? facts.possible : facts.impossible
  }

  #areaCodeFacts(code: string): AreaCodeFacts {
    if (isTollFree(phoneNumber(`${code}5550100`))) return same({ status: 'toll-free' })
    const known = areaCode(code)
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
    const detail = detailOf(code, known)
    const served = [...this.#files.imported.values()].some((imported) => imported.serves(code))
    return same({ status: 'unknown-prefix', detail, areaCodeInUse: served || known !== undefined })
  }

  #geographicFacts(code: string, country: Country, byAreaCode: NumberFacts): AreaCodeFacts {
    const unknown = (detail: string): NumberFacts => ({
      status: 'unknown-prefix',
      detail,
      areaCodeInUse: true,
    })
    const damage = this.#blocked.get(country)
    if (damage !== undefined) {
      const detail = `the imported prefixes of ${country} cannot be used: ${damage}`
      return { country, ...same(unknown(detail)) }
    }
    const imported = this.#files.imported.get(country)
    if (imported) {
      const { asOf } = imported
      const list = asOf === undefined ? 'the list' : `the list of ${formatDay(asOf / 86_400_000)}`
      return { country, ...same(unknown(`not among the exchanges of ${code} in ${list}`)) }
    }
    if (this.#options.unknownPrefix === 'strict') {
      return { country, ...same(unknown(`no list of the prefixes of ${country} is imported`)) }
    }
    const impossible = unknown(`no exchange that numbers of ${code} can have`)
    return { country, possible: byAreaCode, impossible }
  }
}

/** What holds for a prefix that is in no list, by whether its exchange can be an ordinary one. */
interface AreaCodeFacts {
  readonly country?: Country
  readonly possible: NumberFacts
  readonly impossible: NumberFacts
}

function same(facts: NumberFacts): AreaCodeFacts {
  return { possible: facts, impossible: facts }
}

function detailOf(code: string, known: ReturnType<typeof areaCode>): string {
  if (known?.kind === 'other-country') {
    return `area code ${code} serves ${known.country}, not the US or Canada`
  }
  if (known) return `area code ${code} belongs to a service without a place`
  return `area code ${code} is not in service`
}

/** Area code and exchange as an index; negative below area code 200. */
function slotOf(number: PhoneNumber): number {
  let prefix = 0
  for (let index = 0; index < 6; index += 1) prefix = prefix * 10 + number.charCodeAt(index) - 48
  return prefix - firstAreaCode * 1000
}

function ofBlock({ byBlock }: SplitPrefix, number: PhoneNumber): NumberFacts {
  const facts = byBlock[number.charCodeAt(6) - 48]
  if (!facts) throw new RangeError('a number has a digit where its block is')
  return facts
}

/** Services, tests, directory and fiction: exchanges an area code gives to nobody. */
const reservedExchanges: ReadonlySet<string> = new Set(['555', '700', '950', '958', '959', '976'])

/** Canada's province-wide seven-digit service and its siblings, which have no place. */
const canadianServices: ReadonlySet<string> = new Set(['310', '610', '710', '810'])

function isPossibleExchange(exchange: string, country: Country | undefined): boolean {
  if (!/^[2-9]\d\d$/.test(exchange) || exchange.endsWith('11')) return false
  if (country === 'CA' && canadianServices.has(exchange)) return false
  return !reservedExchanges.has(exchange)
}

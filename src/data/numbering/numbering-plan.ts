/**
 * Answers what is known of a number: from the imported list of its prefix where its country has
 * one, else, unless that is switched off, from its area code alone. Imported lists are joined with
 * the company classes when they are loaded; a look-up is one array read.
 */
import { statSync } from 'node:fs'
import { formatDay } from '../../domain/clock.js'
import { isTollFree, type PhoneNumber, phoneNumber } from '../../domain/phone-number.js'
import type { Country, NumberFacts, NumberingPlan, PlanCoverage } from '../../domain/place.js'
import { areaCode } from './area-codes.js'
import { ImportedPrefixes } from './imported-prefixes.js'
import { ocnFilePath, readOcnClasses } from './line-class.js'
import { prefixFilePath } from './prefix-file.js'

export interface NumberingPlanOptions {
  /** Holds the prepared files; may be empty or missing. */
  readonly folder: string
  /** What to make of a country without an imported list: its area codes alone, or nothing. */
  readonly unknownPrefix: 'area-code' | 'strict'
}

export interface ReloadableNumberingPlan extends NumberingPlan {
  /** Reads the prepared files anew. Throws `DataFileError` and keeps the old facts if one is bad. */
  reload(): void
  /**
   * Reloads when a prepared file is another one than before, and says whether it did. Costs three
   * file stats. Throws as {@link reload} does, once for each change.
   */
  reloadIfChanged(): boolean
}

/** Throws `DataFileError` when a prepared file is damaged. */
export function openNumberingPlan(options: NumberingPlanOptions): ReloadableNumberingPlan {
  return new LoadedNumberingPlan(options)
}

const countries: readonly Country[] = ['US', 'CA']
const firstAreaCode = 200
const slotCount = 800_000

class LoadedNumberingPlan implements ReloadableNumberingPlan {
  readonly #options: NumberingPlanOptions
  #imported: ReadonlyMap<Country, ImportedPrefixes> = new Map()
  /** One slot per prefix, filled when first asked for; facts are shared where they can be. */
  #facts: (NumberFacts | undefined)[] = []
  #areaCodes = new Map<string, AreaCodeFacts>()
  #seenFiles = ''

  constructor(options: NumberingPlanOptions) {
    this.#options = options
    this.reload()
  }

  lookup(number: PhoneNumber): NumberFacts {
    const slot = slotOf(number)
    const known = this.#facts[slot]
    if (known) return known
    const facts = this.#resolve(number)
    if (slot >= 0) this.#facts[slot] = facts
    return facts
  }

  coverage(): Readonly<Record<Country, PlanCoverage>> {
    return { US: this.#coverageOf('US'), CA: this.#coverageOf('CA') }
  }

  reload(): void {
    const { folder } = this.#options
    this.#seenFiles = fingerprint(folder)
    const classes = readOcnClasses(folder)
    const imported = new Map<Country, ImportedPrefixes>()
    for (const country of countries) {
      const prefixes = ImportedPrefixes.load(folder, country, classes)
      if (prefixes) imported.set(country, prefixes)
    }
    this.#imported = imported
    this.#areaCodes = new Map()
    this.#facts = new Array<NumberFacts | undefined>(slotCount)
  }

  reloadIfChanged(): boolean {
    if (fingerprint(this.#options.folder) === this.#seenFiles) return false
    this.reload()
    return true
  }

  #coverageOf(country: Country): PlanCoverage {
    const imported = this.#imported.get(country)
    if (imported) return { mode: 'imported', prefixes: imported.size, asOf: imported.asOf }
    return { mode: this.#options.unknownPrefix, prefixes: 0, asOf: undefined }
  }

  #resolve(number: PhoneNumber): NumberFacts {
    for (const imported of this.#imported.values()) {
      const facts = imported.find(Number(number.slice(0, 6)))
      if (facts) return facts
    }
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
      })
    }
    const detail = detailOf(code, known)
    const served = [...this.#imported.values()].some((imported) => imported.serves(code))
    return same({ status: 'unknown-prefix', detail, areaCodeInUse: served || known !== undefined })
  }

  #geographicFacts(code: string, country: Country, byAreaCode: NumberFacts): AreaCodeFacts {
    const unknown = (detail: string): NumberFacts => ({
      status: 'unknown-prefix',
      detail,
      areaCodeInUse: true,
    })
    const imported = this.#imported.get(country)
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

/** Services, tests, directory and fiction: exchanges an area code gives to nobody. */
const reservedExchanges: ReadonlySet<string> = new Set(['555', '700', '950', '958', '959', '976'])

/** Canada's province-wide seven-digit service and its siblings, which have no place. */
const canadianServices: ReadonlySet<string> = new Set(['310', '610', '710', '810'])

function isPossibleExchange(exchange: string, country: Country | undefined): boolean {
  if (!/^[2-9]\d\d$/.test(exchange) || exchange.endsWith('11')) return false
  if (country === 'CA' && canadianServices.has(exchange)) return false
  return !reservedExchanges.has(exchange)
}

/** Changes whenever a prepared file is replaced. */
function fingerprint(folder: string): string {
  const paths = [
    ...countries.map((country) => prefixFilePath(folder, country)),
    ocnFilePath(folder),
  ]
  return paths
    .map((path) => {
      const file = statSync(path, { throwIfNoEntry: false })
      return file ? `${file.ino} ${file.size} ${file.mtimeMs}` : 'none'
    })
    .join()
}

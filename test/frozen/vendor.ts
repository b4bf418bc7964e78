/** A vendor of the API that answers the four questions from rows, over HTTP, and fails when it is told to. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { VendorFault, VendorQuestion, VendorRow } from './script.js'

const questionOfPath: Readonly<Record<string, VendorQuestion>> = {
  '/app/main/rpc/scrub': 'scrub',
  '/app/main/rpc/pdnc': 'internal-dnc',
  '/v1.5/scrub/litigator': 'litigator',
  '/v1.5/geoscrub/istimelegaltocall': 'legal-time',
}

export class RowVendor {
  rows: Readonly<Record<string, VendorRow>> = {}
  readonly faults = new Map<VendorQuestion, VendorFault>()
  /** Requests that will never be answered. */
  silent = 0
  url = ''
  readonly #server: Server

  constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response))
    this.#server.keepAliveTimeout = 0
  }

  /** Earlier requests may hold up those that it would answer. */
  get mayBeSilent(): boolean {
    return this.silent > 0 || [...this.faults.values()].includes('silent')
  }

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const part of request.setEncoding('utf8')) body += String(part)
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://vendor')
    const question = questionOfPath[pathname.toLowerCase()]
    if (!question) throw new TypeError(`the vendor has no ${pathname}`)
    const fault = this.faults.get(question)
    if (fault === 'silent') {
      this.silent += 1
      response.on('close', () => {
        this.silent -= 1
      })
      return
    }
    if (fault === 'error') {
      response.writeHead(500, { 'content-type': 'text/plain' }).end('try again later')
      return
    }
    const isJson = request.headers['content-type']?.includes('json') === true
    const sent = isJson ? JSON.parse(body || '{}') : Object.fromEntries(new URLSearchParams(body))
    const numbers = numbersIn({ ...Object.fromEntries(searchParams), ...sent })
    const rows = numbers.map((number) => formatRow(question, number, this.rows[number] ?? {}))
    const told = fault === 'no-row' ? [] : rows
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(fault === 'garbage' ? '<html>' : JSON.stringify(told))
  }
}

function numbersIn(fields: Readonly<Record<string, unknown>>): readonly string[] {
  const list = Object.entries(fields).find(([name]) =>
    ['phonelist', 'istimelegaltocall'].includes(name.toLowerCase()),
  )?.[1]
  const items: readonly unknown[] = Array.isArray(list) ? list : String(list ?? '').split(',')
  return items.map((item) => {
    const isRow = typeof item === 'object' && item !== null && 'PhoneNumber' in item
    return String(isRow ? item.PhoneNumber : item).slice(0, 10)
  })
}

function formatRow(question: VendorQuestion, number: string, row: VendorRow): unknown {
  switch (question) {
    case 'scrub':
      return formatScrubRow(number, row)
    case 'internal-dnc': {
      const day = row.onList ? '2026-11-02' : null
      return { phone: number, onList: day !== null, addedOn: day, lastModifiedOn: day }
    }
    case 'litigator':
      return { Phone: Number(number), IsLitigator: row.litigator === true }
    case 'legal-time':
      return {
        PhoneNumber: number,
        IsCallPermitted: row.hours === undefined,
        SecondsInCallWindow: row.hours === undefined ? (row.secondsLeft ?? 3_600) : 0,
        Status: row.hours === 'unknown' ? 'UnknownAreaCode' : 'OK',
        StatusMessage: row.hours === 'unknown' ? 'unknown area code' : null,
      }
  }
}

function formatScrubRow(number: string, row: VendorRow): unknown {
  const [manual = '1', autodialed = '1', ai = '0'] = row.allowed ?? '110'
  return {
    Phone: number,
    ResultCode: row.letter ?? 'C',
    Reserved: '',
    Reason: row.reason ?? ';;;',
    RegionAbbrev: 'NY',
    Country: 'US',
    Locale: 'NEW YORK',
    CarrierInfo: '',
    NewReassignedAreaCode: '',
    TZCode: '35',
    CallingWindow: '8:00-21:00;8:00-21:00;8:00-21:00',
    UTCOffset: '-300',
    DoNotCallToday: row.closedToday ? '1' : '0',
    CallingTimeRestrictions: '4',
    EBRType: row.ebr ?? '',
    IsWirelessOrVoIP: row.wireless ? '1' : '0',
    LineType: row.wireless ? 'Wireless' : 'AllOther',
    EBRExpiresOn: '',
    WirelessPortDate: '',
    VoIPDate: '',
    PostalCode: '',
    TZSource: 'NPANXX',
    IsCallAllowedNonATDS: manual,
    IsCallAllowedATDS: autodialed,
    IsCallAllowedAI: ai,
  }
}

/** Each question as a request in full, for raw clients. */
import type { FakeVendor } from '../../src/fake-vendor/fake-vendor.js'
import type { RequestTarget } from '../../src/fake-vendor/request-target.js'

export type Askable = Exclude<RequestTarget, 'other'>

/** Clean, on the national list, litigator. */
const someNumbers = ['2125550100', '2125550103', '2125550105'] as const

export interface Parts {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

type Keys = Pick<FakeVendor, 'loginId' | 'clientId' | 'clientSecret'>

export function partsOf(
  question: Askable,
  { clientId, clientSecret }: Keys,
  numbers: readonly string[] = someNumbers,
): Parts {
  const phoneList = numbers.join(',')
  const json = (path: string, value: unknown): Parts => ({
    method: 'POST',
    path,
    body: JSON.stringify(value),
    headers: { 'content-type': 'application/json' },
  })
  switch (question) {
    case 'scrub':
      return json('/app/main/rpc/scrub', { phoneList, version: 8, output: 'json' })
    case 'internal-dnc':
      return json('/app/main/rpc/pdnc', { phoneList, actionType: 'status' })
    case 'litigator':
      return json('/v1.5/Scrub/litigator', { PhoneList: phoneList })
    case 'legal-time':
      return json('/v1.5/GeoScrub/IsTimeLegalToCall', {
        IsTimeLegalToCall: numbers.map((PhoneNumber) => ({ PhoneNumber })),
      })
    case 'token':
      return {
        method: 'POST',
        path: '/oauth/token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}`,
      }
  }
}

/** The bytes of a request with the vendor's key. */
export function requestText({ method, path, headers = {}, body = '' }: Parts, key: string): string {
  const all = { host: 'vendor', loginId: key, ...headers, 'content-length': String(body.length) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** Asks as an ordinary client does. */
export function ask(
  vendor: FakeVendor,
  question: Askable,
  numbers?: readonly string[],
): Promise<Response> {
  const { method, path, headers = {}, body = '' } = partsOf(question, vendor, numbers)
  const all = { ...headers, loginId: vendor.loginId }
  return fetch(`${vendor.url}${path}`, { method, body, headers: all, redirect: 'manual' })
}

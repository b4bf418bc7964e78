/**
 * Random dialed texts, and what they hand in: a reader of RFC 3966 and RFC 3261 of its own, which
 * shares nothing with the parser of the program.
 */

/** Every digit of a text, in any script, by the place where it stands. */
export interface HandedIn {
  /** Digits where the number belongs, in their order. */
  readonly number: string
  readonly hasPlus: boolean
  /** Of a `tel:` URI. */
  readonly context: string
  readonly host: string
  /** Parameters, passwords, ports, headers and escapes, as they are written. */
  readonly rest: string
}

export function handedIn(text: string): HandedIn {
  const trimmed = asAscii(text).trim()
  const scheme = trimmed.slice(0, trimmed.indexOf(':') + 1).toLowerCase()
  const places =
    scheme === 'tel:'
      ? readTel(trimmed.slice(4))
      : scheme === 'sip:' || scheme === 'sips:'
        ? readSip(trimmed.slice(scheme.length))
        : { number: trimmed }
  const { number, context = '', host = '', rest = '' } = places
  return { number: digitsOf(number), hasPlus: number.startsWith('+'), context, host, rest }
}

/** Full-width characters are those that they are wide forms of, and characters that format text are nothing. */
function asAscii(text: string): string {
  const narrow = (one: string) => String.fromCharCode(one.charCodeAt(0) - 0xfee0)
  return text.replace(/\p{Cf}/gu, '').replace(/[！-～]/g, narrow)
}

interface Places {
  readonly number: string
  readonly context?: string
  readonly host?: string
  readonly rest?: string
}

function readTel(text: string): Places {
  const [number = '', ...parameters] = text.split(';')
  const isContext = (parameter: string) => parameter.toLowerCase().startsWith('phone-context=')
  const [context = '', ...contexts] = parameters.filter(isContext)
  const others = parameters.filter((parameter) => !isContext(parameter))
  return {
    number,
    context: context.slice('phone-context='.length),
    rest: [...others, ...contexts].join(';'),
  }
}

function readSip(text: string): Places {
  const at = text.indexOf('@')
  if (at < 0) return { number: '', rest: text }
  const [number, inUser] = cut(text.slice(0, at), ':;?&=,$/%!~*_')
  const [address, behind] = cut(text.slice(at + 1), ';?@&')
  const bracket = address.startsWith('[') ? address.indexOf(']') : 0
  const colon = address.indexOf(':', bracket)
  const host = colon < 0 ? address : address.slice(0, colon)
  const port = colon < 0 ? '' : address.slice(colon)
  return { number, host, rest: inUser + port + behind }
}

/** Before and from the first of these characters. */
function cut(text: string, ends: string): readonly [string, string] {
  const end = [...ends].map((one) => text.indexOf(one)).filter((place) => place >= 0)
  const first = end.length === 0 ? text.length : Math.min(...end)
  return [text.slice(0, first), text.slice(first)]
}

function digitsOf(text: string): string {
  return [...text].filter((one) => /\p{N}/u.test(one)).join('')
}

/** Whether dialing `dial` is all that the text asked for: no digit of it is lost or added. */
export function isAllHandedIn(text: string, dial: string, isServiceCode: boolean): boolean {
  const { number, hasPlus, context, host, rest } = handedIn(text)
  if (/\p{N}|%/u.test(rest)) return false
  if (context !== '+1' && /\p{N}|%/u.test(context)) return false
  const hosts = host.split(/[.:]/)
  const isHostClear = isServiceCode
    ? hosts.every((label) => !/\p{N}/u.test(label) || /[a-z]/i.test(label))
    : !/\p{N}/u.test(host)
  if (!isHostClear || host.includes('%')) return false
  const digits = digitsOf(dial)
  if (isServiceCode) return number === digits
  const isNational = /^\d{10}$/.test(dial)
  if (!isNational) return number === digits && dial.startsWith('+') === hasPlus
  if (hasPlus) return number === `1${digits}`
  return ['', '1', '0111', '001'].some((prefix) => number === prefix + digits)
}

export const ownCodes: ReadonlySet<string> = new Set(['112', '4357'])

const codes = ['911', '933', '988', '211', '411', '611', '811', ...ownCodes]
/** The sandbox's litigator, as numbers are written, and other kinds of number. */
const numbers = [
  '2125550105',
  '12125550105',
  '+12125550105',
  '(212) 555-0105',
  '+1 212.555.0105',
  '01112125550105',
  '2125550100',
  '+442071838750',
  '011442071838750',
  '1001',
  '1911',
]
const wrappings: readonly ((number: string) => string)[] = [
  (number) => number,
  (number) => `tel:${number}`,
  (number) => `tel:${number};phone-context=+1`,
  (number) => `tel:${number};phone-context=pbx.example.com`,
  (number) => `sip:${number}@pbx.example.com;user=phone`,
  (number) => `SIPS:${number}@pbx1.example.com`,
  (number) => `sip:${number}@10.0.0.1:5060`,
  (number) => `PJSIP/${number}@trunk`,
  (number) => `"911" <sip:${number}@pbx>`,
]
const pieces = [
  ';ext=2125550105',
  ';isub=1',
  ';postd=pp22',
  ';rn=+12125550105',
  ';npdi',
  ';cic=+1288',
  ';phone-context=+1',
  ';phone-context=+44',
  ';phone-context=pbx',
  ';phone-context=5',
  ';user=phone',
  ';transport=tcp',
  ';lr',
  ';maddr=10.0.0.1',
  ';tgrp=2',
  ';2125550105',
  ';',
  '@trunk',
  '@2125550105',
  '@pbx2',
  '@',
  '&',
  '&PJSIP/2125550105@trunk',
  '&number=5',
  '=',
  ':5060',
  ':2125550105',
  ':',
  '?Route=2125550105',
  '?',
  '.2125550105',
  '.1.',
  '[::1]',
  ',',
  ',2125550105',
  'w',
  'p',
  'ww22',
  'p5',
  '*',
  '*67',
  '#',
  'a',
  'x105',
  '_',
  '!',
  '~',
  '\0',
  '\r\n',
  '\n',
  '\t',
  '\v',
  '\x1b',
  '\x7f',
  '\u0085',
  '\u2028',
  '\u00a0',
  '\u200b',
  '\ufeff',
  '\u202e',
  '٢',
  '１',
  '＋',
  '＋４４',
  '；ext=２',
  '＠pbx２',
  '＠',
  '％31',
  '－',
  '\u2011',
  '\u00ad',
  '²',
  '①',
  '𝟗',
  '½',
  'é',
  '\ud800',
  ' ',
  '-',
  '.',
  '(',
  ')',
  '/',
  '+',
  '%31',
  '%2B',
  '%',
  '<',
  '>',
  '"',
  "'",
  '\\',
  '|',
  '^',
  '0',
  '1',
  '9',
  '1',
  '5',
  '011',
  '00',
  '+1',
  '911',
  '2125550105',
  'sip:',
  'tel:',
  'urn:',
]

/** A whole number from 0 up to, not including, the bound. */
export type Random = (below: number) => number

function oneOf<One>(random: Random, all: readonly One[]): One {
  return all[random(all.length)] as One
}

/** A number as people and programs write it; in seven of eight texts something is wrong with it. */
export function randomDialed(random: Random): string {
  const base = oneOf(random, random(2) === 0 ? codes : numbers)
  let text = oneOf(random, wrappings)(base)
  for (let left = random(8) === 0 ? 0 : 1 + random(3); left > 0; left -= 1) {
    text = mutated(random, text)
  }
  return text
}

function mutated(random: Random, text: string): string {
  const at = random(text.length + 1)
  const [before, behind] = [text.slice(0, at), text.slice(at)]
  switch (random(8)) {
    case 0:
    case 1:
      return text + oneOf(random, pieces)
    case 2:
      return before + oneOf(random, pieces) + behind
    case 3:
      return before + oneOf(random, pieces) + behind.slice(1)
    case 4:
      return before + behind.slice(1)
    case 5:
      return before + behind.slice(0, 1 + random(4)) + behind
    case 6:
      return text + oneOf(random, pieces) + oneOf(random, random(2) === 0 ? codes : numbers)
    default:
      return oneOf(random, pieces) + text
  }
}

/** Rows as a provider sends them, valid by the specification, with fields to replace. */
import type { InvalidRow, ParsedRow } from '../../../../src/sources/remote/batch-question.js'
import { instant } from '../../../support/test-clock.js'

export type WireRow = Readonly<Record<string, unknown>>

/** Monday, noon in New York: inside the window of {@link scrubWire}. */
export const noon = instant('2026-11-23T17:00:00Z')

/** A wireless number with a written permission, at noon: every flag is set. */
export function scrubWire(phone: string, more: WireRow = {}): WireRow {
  return {
    Phone: phone,
    ResultCode: 'G',
    Reserved: '',
    Reason: ';;;W',
    RegionAbbrev: 'NY',
    Country: 'US',
    Locale: 'NEW YORK',
    CarrierInfo: '6010;WIRELESS;"A:B"',
    NewReassignedAreaCode: '',
    TZCode: '35',
    UTCOffset: '-300',
    CallingWindow: '8:00-21:00;9:00-12:00;0:00-0:00',
    DoNotCallToday: '0',
    CallingTimeRestrictions: '4',
    EBRType: 'P',
    IsWirelessOrVoIP: '1',
    LineType: 'Wireless',
    EBRExpiresOn: '',
    WirelessPortDate: '',
    VoIPDate: '',
    PostalCode: '',
    TZSource: 'NPANXX',
    IsCallAllowedNonATDS: '1',
    IsCallAllowedATDS: '1',
    IsCallAllowedAI: '1',
    ...more,
  }
}

/** Fields of a landline on no list, without consent. */
export const landline: WireRow = {
  ResultCode: 'C',
  Reason: ';;;',
  EBRType: '',
  IsWirelessOrVoIP: '0',
  LineType: 'AllOther',
  IsCallAllowedAI: '0',
}

export function internalWire(phone: string, more: WireRow = {}): WireRow {
  return { phone, onList: false, addedOn: null, lastModifiedOn: null, ...more }
}

export function litigatorWire(phone: string, more: WireRow = {}): WireRow {
  return { Phone: Number(phone), IsLitigator: false, ...more }
}

export function legalWire(phone: string, more: WireRow = {}): WireRow {
  return {
    PhoneNumber: phone,
    IsCallPermitted: true,
    SecondsInCallWindow: 600,
    Status: 'OK',
    StatusMessage: null,
    ...more,
  }
}

export function replyOf(value: unknown, contentType = 'application/json') {
  const body = typeof value === 'string' ? value : JSON.stringify(value)
  return { body, contentType, askedAt: noon }
}

type Read<Value> = ParsedRow<Value> | InvalidRow | undefined

/** The value, or a thrown text that says why there is none. */
export function understood<Value>(read: Read<Value>): ParsedRow<Value> {
  if (read && 'value' in read) return read
  throw new Error(`not understood: ${read?.problem ?? 'no answer at all'}`)
}

/** Why the row was not understood; `undefined` for one that was. */
export function problem(read: Read<unknown>): string | undefined {
  return read && 'problem' in read ? read.problem : undefined
}

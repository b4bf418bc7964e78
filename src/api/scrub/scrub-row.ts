/**
 * Encodes and parses scrub rows (spec, "Scrub result row"), where every value is text. The scrub
 * service determines the values.
 */
import { z } from 'zod'
import { resultLetters } from '../../domain/compliance.js'
import type { ScrubRow, ScrubVersion } from '../../domain/scrub-row.js'

/**
 * The columns of version 8, of which older versions have the first 17, so that their readers can read it.
 * One literal: built from parts, an object of this size takes many times as long.
 */
function toColumns(row: ScrubRow): Readonly<Record<string, string>> {
  return {
    Phone: row.phone,
    ResultCode: row.letter,
    Reserved: row.reserved,
    Reason: row.reason,
    RegionAbbrev: row.region,
    Country: row.country,
    Locale: row.locale,
    CarrierInfo: row.carrierInfo,
    // Filled only after an area-code split; callgate has no table of splits.
    NewReassignedAreaCode: '',
    TZCode: row.timeZoneCode,
    CallingWindow: row.callingWindow,
    UTCOffset: row.utcOffsetMinutes === undefined ? '' : String(row.utcOffsetMinutes),
    DoNotCallToday: flag(row.doNotCallToday),
    CallingTimeRestrictions: row.callingTimeRestrictions,
    EBRType: row.ebrType,
    IsWirelessOrVoIP: flag(row.isWirelessOrVoip),
    LineType: row.lineType,
    EBRExpiresOn: row.ebrExpiresOn,
    WirelessPortDate: row.wirelessPortDate,
    // Always empty, since no available data has it.
    VoIPDate: '',
    PostalCode: row.postalCode,
    TZSource: row.timeZoneSource,
    IsCallAllowedNonATDS: flag(row.allowed.manual),
    IsCallAllowedATDS: flag(row.allowed.autodialed),
    IsCallAllowedAI: flag(row.allowed.ai),
  }
}

const oldColumnCount = 17

function flag(value: boolean | undefined): string {
  if (value === undefined) return ''
  return value ? '1' : '0'
}

/** Encodes rows, at least one, as JSON objects separated by commas. */
export function toJsonText(rows: readonly ScrubRow[], version: ScrubVersion): string {
  const objects = rows.map(toColumns)
  const names = version < 8 ? Object.keys(objects[0] ?? {}).slice(0, oldColumnCount) : null
  // Many rows in one call: a call takes as long as several rows.
  return JSON.stringify(objects, names).slice(1, -1)
}

/** Encodes rows as CSV lines. */
export function toCsvText(rows: readonly ScrubRow[], version: ScrubVersion): string {
  let text = ''
  for (const row of rows) text += toCsvLine(row, version)
  return text
}

/**
 * Encodes a row as one CSV line, with columns in the order of the JSON fields. Dialers often split at
 * commas without following CSV rules, so a field is quoted only if it contains a comma or line break or
 * begins with a quote, and quotes in other fields are not doubled.
 */
function toCsvLine(row: ScrubRow, version: ScrubVersion): string {
  const values = Object.values(toColumns(row))
  if (version < 8) values.length = oldColumnCount
  return `${values.map(toCsvField).join(',')}\n`
}

function toCsvField(text: string): string {
  return /^"|[,\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const text = z.string('must be text')
/** Empty and `0` both mean that there is no date (spec, "Scrub result row"). */
const dateOrNothing = text.transform((date) => (date === '0' ? '' : date))
const letter = z.enum(resultLetters, `must be one of the letters ${resultLetters.join(' ')}`)
const ebrType = z.enum(['S', 'I', 'P', 'T', ''], 'must be S, I, P, T or empty')
const yesNo = z.enum(['0', '1'], 'must be 0 or 1').transform((digit) => digit === '1')
const yesNoOrNothing = z
  .enum(['0', '1', ''], 'must be 0, 1 or empty')
  .transform((digit) => (digit === '' ? undefined : digit === '1'))
const minutes = z
  .string('must be text')
  .regex(/^(?:-?\d{1,4})?$/, 'must be minutes or empty')
  .transform((digits) => (digits === '' ? undefined : Number(digits)))

/**
 * Parses a row of version 8 in JSON form. Every field of the spec's row is required, other fields are
 * ignored, and unknown letters are errors.
 */
export const wireScrubRow = z
  .object({
    Phone: text,
    ResultCode: letter,
    Reserved: text,
    Reason: text,
    RegionAbbrev: text,
    Country: text,
    Locale: text,
    CarrierInfo: text,
    TZCode: text,
    NewReassignedAreaCode: text,
    WirelessPortDate: dateOrNothing,
    VoIPDate: text,
    CallingWindow: text,
    UTCOffset: minutes,
    DoNotCallToday: yesNoOrNothing,
    CallingTimeRestrictions: text,
    EBRType: ebrType,
    IsWirelessOrVoIP: yesNoOrNothing,
    LineType: text,
    EBRExpiresOn: text,
    PostalCode: text,
    TZSource: text,
    IsCallAllowedNonATDS: yesNo,
    IsCallAllowedATDS: yesNo,
    IsCallAllowedAI: yesNo,
  })
  .transform(
    (wire): ScrubRow => ({
      phone: wire.Phone,
      letter: wire.ResultCode,
      reserved: wire.Reserved,
      reason: wire.Reason,
      region: wire.RegionAbbrev,
      country: wire.Country,
      locale: wire.Locale,
      carrierInfo: wire.CarrierInfo,
      timeZoneCode: wire.TZCode,
      callingWindow: wire.CallingWindow,
      utcOffsetMinutes: wire.UTCOffset,
      doNotCallToday: wire.DoNotCallToday,
      ebrType: wire.EBRType,
      callingTimeRestrictions: wire.CallingTimeRestrictions,
      lineType: wire.LineType,
      isWirelessOrVoip: wire.IsWirelessOrVoIP,
      ebrExpiresOn: wire.EBRExpiresOn,
      wirelessPortDate: wire.WirelessPortDate,
      postalCode: wire.PostalCode,
      timeZoneSource: wire.TZSource,
      allowed: {
        manual: wire.IsCallAllowedNonATDS,
        autodialed: wire.IsCallAllowedATDS,
        ai: wire.IsCallAllowedAI,
      },
    }),
  )

import { expect, test } from 'vitest'
import { formatLocaleName } from '../../src/data/numbering/locale-name.js'

test.each([
  ['NY', 'NWYRCYZN01', 'NEW YORK'],
  ['PA', 'PHLDLPHZN1', 'PHILADELPHIA'],
  ['PA', 'PTTSBGZON1', 'PITTSBURGH'],
  ['CA', 'LSAN DA 01', 'LOS ANGELES'],
  ['CA', 'SNFC CNTRL', 'SAN FRANCISCO'],
  ['CA', 'OKLD MN-PD', 'OAKLAND'],
  ['MD', 'WSNG236Z13', 'WASHINGTON'],
  ['MD', 'LAUREL236', 'LAUREL'],
  ['MI', 'DETROITZN5', 'DETROIT'],
  ['NY', 'NASSAUZN05', 'NASSAU'],
  ['CA', 'SANTA ANA', 'SANTA ANA'],
  ['CA', 'PALO ALTO', 'PALO ALTO'],
  ['GA', 'ATLANTA NE', 'ATLANTA NE'],
  ['QC', 'Montréal', 'Montréal'],
  ['FL', '', ''],
])('%s %s is %s', (region, rateCenter, name) => {
  const candidates = [{ region, zone: 'America/New_York' }]
  expect(formatLocaleName({ candidates }, rateCenter)).toBe(name)
})

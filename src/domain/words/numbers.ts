/** Words about what was dialed, and about numbers without a place. The first ones follow the name of the field. */
export const numberWords = {
  'longer-than': 'is longer than {characters} characters',
  'no-digits': 'has no digits',
  'not-one-number':
    'is not one telephone number: must be digits, with an optional + and spaces or ( ) . - / between them, or a tel: or sip: URI without other digits',
  'has-character': 'it contains the character {character}',
  'host-has-digits':
    'has a host name with digits, which may be another number; send the number without it',
  'not-national': '{digits} digits are not a North American number, which has 10',
  'service-code-after-1': 'has a 1 before the service code {code}; must be just {code}',
  'not-international': 'is not a valid international number: country code 0 or wrong length',
  'wrong-international-length':
    '{digits} digits after {prefix} are not an international number, which has 5 to 15',
  'plus-before-national': 'may be a national number with a plus added',
  'area-code-of-country': 'area code {areaCode} serves {country}, not the US or Canada',
  'area-code-of-service': 'area code {areaCode} belongs to a service without a place',
  'area-code-not-in-service': 'area code {areaCode} is not in service',
  'prefixes-unusable': 'the imported prefixes of {country} cannot be used',
  'not-an-exchange': 'not among the exchanges of {areaCode} in the list',
  'not-an-exchange-as-of': 'not among the exchanges of {areaCode} in the list of {asOf}',
  'no-prefixes': 'no list of the prefixes of {country} is imported',
  'exchange-impossible': 'numbers of area code {areaCode} cannot have this exchange',
  'no-sandbox-line': 'the sandbox has no facts about line {line}',
  'toll-free': 'toll-free number',
} as const

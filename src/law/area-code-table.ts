/**
 * The area codes in service, as one table: region, every zone a number of the code may be in, codes.
 * Codes, regions and countries are from the NANPA area-code report of 2026-08-17; the zones are
 * maintained by hand. `area-codes.ts` provides the lookups.
 */

/** Region, candidate zones (IANA), area codes. A code in several rows serves several regions. */
export type GeographicRow = readonly [region: string, zones: readonly string[], codes: string]

/**
 * States, DC and the territories. A code with two zones crosses a zone line within its state, or
 * includes a town that keeps the time of the neighboring state (Phenix City AL, West Wendover NV).
 */
export const usRows: readonly GeographicRow[] = [
  ['AK', ['America/Anchorage', 'America/Adak'], '907'],
  ['AL', ['America/Chicago'], '205 251 256 659 938'],
  ['AL', ['America/New_York', 'America/Chicago'], '334 483'],
  ['AR', ['America/Chicago'], '327 479 501 870'],
  ['AS', ['Pacific/Pago_Pago'], '684'],
  ['AZ', ['America/Phoenix'], '480 520 602 623'],
  ['AZ', ['America/Phoenix', 'America/Denver'], '928'],
  ['CA', ['America/Los_Angeles'], '209 213 279 310 323 341 350 357 369 408 415 424 442 510'],
  ['CA', ['America/Los_Angeles'], '530 559 562 619 626 628 650 657 661 669 707 714 738 747'],
  ['CA', ['America/Los_Angeles'], '760 805 818 820 831 837 840 858 909 916 925 949 951'],
  ['CO', ['America/Denver'], '303 719 720 748 970 983'],
  ['CT', ['America/New_York'], '203 475 860 959'],
  ['DC', ['America/New_York'], '202 771'],
  ['DE', ['America/New_York'], '302'],
  [
    'FL',
    ['America/New_York'],
    '239 305 321 324 352 386 407 561 645 656 689 727 728 754 772 786 813 863 904 941 954',
  ],
  ['FL', ['America/New_York', 'America/Chicago'], '448 850'],
  ['GA', ['America/New_York'], '229 404 470 478 678 706 762 770 912 943'],
  ['GU', ['Pacific/Guam'], '671'],
  ['HI', ['Pacific/Honolulu'], '808'],
  ['IA', ['America/Chicago'], '319 515 563 641 712'],
  ['ID', ['America/Denver', 'America/Los_Angeles'], '208 986'],
  [
    'IL',
    ['America/Chicago'],
    '217 224 309 312 331 447 464 618 630 708 730 773 779 815 847 861 872',
  ],
  ['IN', ['America/New_York', 'America/Chicago'], '219 574 812 930'],
  ['IN', ['America/New_York'], '260 317 463 765'],
  ['KS', ['America/Chicago'], '316 913'],
  ['KS', ['America/Chicago', 'America/Denver'], '620 785'],
  ['KY', ['America/New_York', 'America/Chicago'], '270 364 606'],
  ['KY', ['America/New_York'], '502 859'],
  ['LA', ['America/Chicago'], '225 318 337 457 504 985'],
  ['MA', ['America/New_York'], '339 351 413 508 617 774 781 857 978'],
  ['MD', ['America/New_York'], '227 240 301 410 443 667'],
  ['ME', ['America/New_York'], '207'],
  ['MI', ['America/Detroit'], '231 248 269 313 517 586 616 679 734 810 947 989'],
  ['MI', ['America/Detroit', 'America/Menominee'], '906'],
  ['MN', ['America/Chicago'], '218 320 507 612 651 763 924 952'],
  ['MO', ['America/Chicago'], '235 314 417 557 573 636 660 816 975'],
  ['MP', ['Pacific/Guam'], '670'],
  ['MS', ['America/Chicago'], '228 471 601 662 769'],
  ['MT', ['America/Denver'], '406'],
  ['NC', ['America/New_York'], '252 336 472 704 743 828 910 919 980 984'],
  ['ND', ['America/Chicago', 'America/Denver'], '701'],
  ['NE', ['America/Chicago', 'America/Denver'], '308 402 531'],
  ['NH', ['America/New_York'], '603'],
  ['NJ', ['America/New_York'], '201 551 609 640 732 848 856 862 908 973'],
  ['NM', ['America/Denver'], '505 575'],
  ['NV', ['America/Los_Angeles'], '702 725'],
  ['NV', ['America/Denver', 'America/Los_Angeles'], '775'],
  [
    'NY',
    ['America/New_York'],
    '212 315 329 332 347 363 465 516 518 585 607 624 631 646 680 716 718 838 845 914 917 929 934',
  ],
  ['OH', ['America/New_York'], '216 220 234 283 326 330 380 419 436 440 513 567 614 740 937'],
  ['OK', ['America/Chicago'], '405 539 572 580 918'],
  ['OR', ['America/Denver', 'America/Los_Angeles'], '458 541'],
  ['OR', ['America/Los_Angeles'], '503 971'],
  ['PA', ['America/New_York'], '215 223 267 272 412 445 484 570 582 610 717 724 814 835 878'],
  ['PR', ['America/Puerto_Rico'], '787 939'],
  ['RI', ['America/New_York'], '401'],
  ['SC', ['America/New_York'], '803 821 839 843 854 864'],
  ['SD', ['America/Chicago', 'America/Denver'], '605'],
  ['TN', ['America/New_York', 'America/Chicago'], '423 729 931'],
  ['TN', ['America/Chicago'], '615 629 731 901'],
  ['TN', ['America/New_York'], '865'],
  [
    'TX',
    ['America/Chicago'],
    '210 214 254 281 325 346 361 409 430 469 512 621 682 713 726 737 806 817 830 832 903 936 940 945 956 972 979',
  ],
  ['TX', ['America/Chicago', 'America/Denver'], '432 915'],
  ['UT', ['America/Denver'], '385 435 801'],
  ['VA', ['America/New_York'], '276 434 540 571 686 703 757 804 826 948'],
  ['VI', ['America/St_Thomas'], '340'],
  ['VT', ['America/New_York'], '802'],
  ['WA', ['America/Los_Angeles'], '206 253 360 425 509 564'],
  ['WI', ['America/Chicago'], '262 274 353 414 534 608 715 920'],
  ['WV', ['America/New_York'], '304 681'],
  ['WY', ['America/Denver'], '307'],
]

/**
 * Provinces and territories; 902 and 782 serve two of them, 867 serves three. Which rate centers are in
 * which zone of a code, and by which law, is in
 * `data/numbering/import/rate-center-zones.ts`.
 */
export const canadaRows: readonly GeographicRow[] = [
  ['AB', ['America/Edmonton'], '368 403 587 780 825'],
  [
    'BC',
    [
      'America/Vancouver',
      'America/Edmonton',
      'America/Creston',
      'America/Dawson_Creek',
      'America/Fort_Nelson',
    ],
    '236 250 257 672 778',
  ],
  ['BC', ['America/Vancouver'], '604'],
  ['MB', ['America/Winnipeg'], '204 431 584'],
  ['NB', ['America/Halifax'], '428 506'],
  ['NL', ['America/St_Johns', 'America/Goose_Bay'], '709 879'],
  ['NS', ['America/Halifax'], '782 902'],
  ['NT', ['America/Edmonton'], '867'],
  [
    'NU',
    [
      'America/Iqaluit',
      'America/Rankin_Inlet',
      'America/Resolute',
      'America/Cambridge_Bay',
      'America/Atikokan',
    ],
    '867',
  ],
  [
    'ON',
    ['America/Toronto'],
    '226 249 289 343 365 382 416 437 519 548 613 647 683 705 742 753 905 942',
  ],
  ['ON', ['America/Toronto', 'America/Winnipeg', 'America/Atikokan'], '807'],
  ['PE', ['America/Halifax'], '782 902'],
  ['QC', ['America/Toronto'], '263 354 438 450 468 514 579 819 873'],
  ['QC', ['America/Toronto', 'America/Blanc-Sablon', 'America/Halifax'], '367 418 581'],
  ['SK', ['America/Regina', 'America/Edmonton', 'America/Winnipeg'], '306 474 639'],
  ['YT', ['America/Whitehorse'], '867'],
]

/** Other countries of the North American Numbering Plan: in service, but outside the calling rules. */
export const otherCountryRows: readonly (readonly [country: string, codes: string])[] = [
  ['Anguilla', '264'],
  ['Antigua and Barbuda', '268'],
  ['the Bahamas', '242'],
  ['Barbados', '246'],
  ['Bermuda', '441'],
  ['the British Virgin Islands', '284'],
  ['the Cayman Islands', '345'],
  ['Dominica', '767'],
  ['the Dominican Republic', '809 829 849'],
  ['Grenada', '473'],
  ['Jamaica', '658 876'],
  ['Montserrat', '664'],
  ['Saint Kitts and Nevis', '869'],
  ['Saint Lucia', '758'],
  ['Saint Vincent and the Grenadines', '784'],
  ['Sint Maarten', '721'],
  ['Trinidad and Tobago', '868'],
  ['Turks and Caicos', '649'],
]

/** Toll-free codes in service; the reserved ones are in `domain/phone-number.ts`. */
export const tollFreeInService = '800 833 844 855 866 877 888'

/** Personal (5XX), Canadian non-geographic (6XX), carrier, government and premium services. */
export const nonGeographic =
  '500 521 522 523 524 525 526 527 528 529 532 533 538 542 544 566 577 588 600 622 633 700 710 900'

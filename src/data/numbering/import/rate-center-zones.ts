/**
 * The zones of rate centers in area codes that reach several zones, as the law of the region sets
 * them, or local custom where that is known to differ.
 *
 * Canada is complete, with all names of the CNAC report "CO code status, all NPAs" of 2024-10-10. A
 * Canadian rate center that is missing here is newer, so its prefixes have every zone of the area code.
 * For the US, only rate centers whose name or ZIP leads to a wrong zone are listed; their names are
 * those of NANPA, truncated to ten letters.
 */

/**
 * Rate centers by state or province and by IANA zone, separated by commas. A key with two zones,
 * separated by a blank, is for rate centers whose numbers may be in either: both must permit.
 */
export const rateCenterZones: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  AL: {
    // Central time by law (49 CFR 71.5), Eastern time by custom next to West Point, Georgia.
    'America/New_York America/Chicago': 'HUGULEY',
  },
  AZ: {
    // In the Navajo Nation, which has daylight saving time.
    'America/Denver': 'DILKON',
    // Next to the Navajo Nation, or including the Hopi village of Moenkopi, which has none.
    'America/Phoenix America/Denver': 'MARBLECNYN, SANDERS, TUBA CITY',
  },
  BC: {
    // Interpretation Act, RSBC 1996, c. 238: Pacific time. By local choice Mountain time in the East
    // Kootenay, and Mountain standard time all year around Creston, Dawson Creek and Fort Nelson.
    'America/Edmonton': `
      Canal Flats, Cranbrook, Donald, Elkford, Elko, Fairmont Hot Springs, Fernie, Field, Golden,
      Grasmere, Invermere, Jaffray, Kimberley, Moyie, Parson, Radium, Skookumchuck, Sparwood,
      Spillimacheen
    `,
    'America/Creston': 'Creston, Wynndel',
    // Between Creston and the East Kootenay: sources disagree.
    'America/Creston America/Edmonton': 'Yahk',
    'America/Dawson_Creek': `
      Chetwynd, Dawson Creek, East Pine, Flatrock, Fort St. John, Hudson's Hope, Montney,
      Pouce Coupe, Prespatou, Rolla, Taylor, Tumbler Ridge, Wonowon
    `,
    'America/Fort_Nelson': 'Fort Nelson, Muncho Lake, Prophet River, Toad River',
    'America/Vancouver': `
      100 Mile House, 108 Mile House, 150 Mile House, 70 Mile House, Abbotsford, Agassiz, Ahousat,
      Aiyansh, Aldergrove, Alert Bay, Alexis Creek, Alkali Lake, Armstrong, Ashcroft, Aspen Park,
      Atlin, Avola, Balfour, Bamfield, Barriere, Bear Lake, Beaver Cove, Beaver Valley, Beaverdell,
      Bella Bella, Bella Coola, Black Point, Blue River, Bob Quinn Lake, Boston Bar, Boswell,
      Bouchie Lake, Bowen Island, Bowser, Bridge Lake, Britannia Beach, Burns Lake, Cache Creek,
      Campbell River, Castlegar, Cedar, Celista, Chase, Chemainus, Chief Lake, Chilako, Chilliwack,
      Christina Lake, Clearwater, Clinton, Cloverdale, Cluculz Lake, Cobble Hill, Comox,
      Cortes Island, Courtenay, Crawford Bay, Cumberland, D'Arcy, Dallas, Dease Lake, Decker Lake,
      Douglas Lake, Dragon Lake, Duncan, Duncan Lake, Dunster, Enderby, Falkland, Fauquier,
      Forest Grove, Fort Fraser, Fort Langley, Fort St. James, Fort Ware, Francois Lake,
      Fraser Lake, Fruitvale, Fulford Harbour, Gabriola Island, Ganges, Genelle, Gibsons, Giscome,
      Gold Bridge, Gold River, Good Hope Lake, Grand Forks, Granisle, Grassy Plains, Greenville,
      Greenwood, Gulf Islands, Hagensborg, Haney, Hansard, Hartley Bay, Hartway, Hazelton, Hedley,
      Hemlock Valley, Hendrix Lake, Hixon, Holberg, Hope, Horsefly, Houston, Iskut, Jordan River,
      Kaslo, Kelowna, Keremeos, Kincolith, Kitimat, Kitkatla, Kitsault, Kitwanga, Klemtu, Kyuquot,
      Lac La Hache, Ladner, Ladysmith, Lake Cowichan, Lakelse, Lakeview Heights, Langley,
      Lantzville, Lasqueti Island, Likely, Lillooet, Little Fort, Logan Lake, Loos, Lower Post,
      Lumby, Lytton, Mackenzie, Manning Park, Masset, McBride, McLeese Lake, McLeod Lake, Merritt,
      Mica Creek, Midway, Mission, Nakusp, Nanaimo, Nanoose, Naramata, Nelson, New Denver,
      New Westminster, Newton, Nimpo Lake, North Kamloops, North Nelson, North Vancouver,
      Ocean Falls, Okanagan Falls, Okanagan Mission, Oliver, Osoyoos, Oyama, Oyster Bay,
      Parksville, Peachland, Pemberton, Pender Harbour, Pender Island, Penticton, Pineview,
      Pitt Meadows, Port Alberni, Port Alice, Port Clements, Port Coquitlam, Port Edward,
      Port Hardy, Port Mcneill, Port Moody, Port Renfrew, Port Simpson, Powell River,
      Prince George, Prince Rupert, Princeton, Pritchard, Puntzi, Quadra Island, Qualicum,
      Queen Charlotte, Quesnel, Red Rock, Revelstoke, Richmond, Riondel, Riske Creek, Rock Creek,
      Rosedale, Rossland, Rutland, Saanich, Salmo, Salmon Arm, Salmon Valley, Sandspit, Sardis,
      Savona, Sayward, Sechelt, Shalalth, Sicamous, Slocan, Smithers, Sointula, Sooke, Sorrento,
      South Kamloops, South Slocan, Spences Bridge, Squamish, Stewart, Summerland, Summit Lake,
      Tachie, Tahsis, Tappen, Tatla Lake, Telegraph Creek, Telkwa, Terrace, Thrums, Tofino, Topley,
      Trail, Trout Lake, Tsay Keh Dene, Ucluelet, Union Bay, Valemount, Vallican, Vancouver,
      Vanderhoof, Vanway, Vavenby, Vernon, Victoria, Wellington, Wells, West Vancouver, Westbank,
      Westsyde, Westview, Westwold, Whalley, Whistler, White Rock, Whonnock, Wildwood,
      Williams Lake, Willow Point, Willowbrook, Winfield, Winter Harbour, Woss Lake, Yale, Yarrow,
      Youbou, Zeballos
    `,
  },
  IN: {
    // In Gibson County, which has Central time (49 CFR 71.5), next to Pike County, which has Eastern.
    'America/New_York America/Chicago': 'OAKLAND CY',
  },
  KY: {
    // In LaRue County, and in Mason County; the place of the same name in Logan County is LEWISBRG.
    'America/New_York': 'BUFFALO, LEWISBURG',
    // Where LaRue County meets Hart and Green County.
    'America/New_York America/Chicago': 'MAGNOLIA',
  },
  MI: {
    // In Delta County, which has Eastern time, next to Menominee County, which has Central.
    'America/Detroit America/Menominee': 'BARK RIVER',
  },
  NL: {
    // Standard Time Act: Newfoundland time. Labrador keeps Atlantic time, except for the south-east
    // coast from L'Anse-au-Clair to Norman's Bay.
    'America/Goose_Bay': `
      Cartwright, Churchill Falls, Happy Valley - Goose Bay, Hopedale, Labrador City - Wabush,
      Makkovik, Nain, Natuashish, Northwest River, Paradise River, Postville, Rigolet
    `,
    // Next to that line; sources disagree.
    'America/St_Johns America/Goose_Bay': 'Black Tickle',
    'America/St_Johns': `
      Arnold's Cove, Badger, Baie Verte, Bay L'Argent, Bay Roberts, Beaumont, Bell Island,
      Belleoram, Bellevue, Benoit's Cove, Birchy Bay, Bishop's Falls, Black Duck Cove, Bonavista,
      Botwood, Boyd's Cove, Branch, Brent's Cove, Brig Bay, Brigus, Brown's Arm, Buchans, Burgeo,
      Burin, Burlington, Campbellton, Cape Broyle, Carbonear, Carmanville, Catalina, Centreville,
      Chance Cove, Change Islands, Chapel Arm, Charlottetown (Bonavista Bay),
      Charlottetown (Labrador), Clarenville, Clarke's Head, Codroy, Come By Chance,
      Comfort Cove - Newstead, Conche, Cook's Harbour, Coomb's Cove, Corner Brook, Cottrell's Cove,
      Cow Head, Daniel's Harbour, Deer Lake, Degras, Eastport, Englee, English Harbour East,
      English Harbour West, Fairhaven, Fermeuse, Fleur De Lys, Flower's Cove, Fogo, Forteau,
      Francois, Freshwater, Gambo, Gander, Garden Cove, Garnish, Gaultois, Glenwood, Glovertown,
      Grand Bank, Grand Falls, Grandois, Green Island Cove, Greenspond, Grey River, Griquet,
      Hampden, Harbour Breton, Harbour Main, Hare Bay, Harry's Harbour, Hawkes Bay,
      Heart's Content, Heart's Delight, Hermitage, Hickman's Harbour, Hillgrade, Hillview, Horwood,
      Island Harbour, Isle Aux Morts, Jackson's Arm, Jamestown, Jeffreys, Joe Batt's Arm,
      King's Cove, King's Point, L'Anse Au Loup, LaPoile, LaScie, Ladle Cove, Lamaline,
      Lark Harbour, Leading Tickles, Lewisporte, Little Bay, Little Harbour, Little Heart's Ease,
      Long Harbour, Long Pond, Lourdes, Lower Island Cove, Lumsden, Main Brook, Mary's Harbour,
      Marystown, McCallum, McIvers, Millertown, Milltown, Ming's Bight, Monkstown, Monroe,
      Moreton's Harbour, Mount Carmel, Musgrave Harbour, Musgravetown, New Chelsea, New Harbour,
      Newman's Cove, Nipper's Harbour, Norman's Bay, Norris Arm, Old Perlican, Pacquet, Pasadena,
      Petit Forte, Pinsent's Arm, Plate Cove, Point Leamington, Pool's Cove, Port Albert,
      Port Au Port, Port Aux Basques, Port Blandford, Port Hope Simpson, Port Rexton,
      Port Saunders, Portugal Cove, Pouch Cove, Princeton, Raleigh, Ramea, Red Bay, Reef's Harbour,
      Rencontre East, River Of Ponds, Robert's Arm, Rocky Harbour, Roddickton, Rose Blanche,
      Rushoon, Seal Cove (Fortune Bay), Seal Cove (White Bay), Seldom, Sop's Arm, South Brook,
      Springdale, St. Alban's, St. Anthony, St. Brendan's, St. Bride's, St. George's, St. John's,
      St. Lawrence, St. Lewis, St. Mary's, Stephenville, Stephenville Crossing, Summerford,
      Summerside, Terra Nova, Terrenceville, Torbay, Trepassey, Triton, Trout River, Twillingate,
      Upper Island Cove, Wesleyville, Western Bay, Westport, Whitbourne, Wild Cove, Witless Bay,
      Woody Point
    `,
  },
  NU: {
    // Mountain time in the Kitikmeot Region, else Eastern time east of 85 degrees west and Central time
    // west of it. Coral Harbour keeps Eastern standard time all year (IANA tz database).
    'America/Cambridge_Bay': 'Cambridge Bay, Gjoa Haven, Kugaaruk, Kugluktuk, Taloyoak',
    'America/Rankin_Inlet': `
      Arviat, Baker Lake, Chesterfield Inlet, Naujaat, Rankin Inlet, Whale Cove
    `,
    'America/Resolute': 'Resolute',
    'America/Atikokan': 'Coral Harbour',
    'America/Iqaluit': `
      Arctic Bay, Clyde River, Grise Fiord, Igloolik, Iqaluit, Kimmirut, Kinngait, Pangnirtung,
      Pond Inlet, Qikiqtarjuaq, Sanikiluaq, Sanirajak
    `,
  },
  NV: {
    // Pacific time by law, Mountain time by custom, next to Idaho; see `correctedZips`.
    'America/Los_Angeles America/Denver': 'JACKPOT, JARBIDGE, MOUNTAINCY, OWYHEE',
  },
  ON: {
    // Time Act, RSO 1990, c. T.9: Central time west of 90 degrees west, Eastern time east of it.
    'America/Winnipeg': `
      Balmertown, Barwick, Bears Passage, Bearskin Lake, Cat Lake, Clearwater Bay, Cochenour,
      Deer Lake, Devlin, Dryden, Eagle River, Ear Falls, Emo, Flanders, Fort Frances,
      Grassy Narrows, Hudson, Ignace, Jaffray-Melick, Keewatin, Kenora, Lac La Croix, Madsen,
      McKenzie Portage, Minaki, Mine Centre, Morson, Muskrat Dam, Nestor Falls, Oxdrift,
      Perrault Falls, Pikangikum, Poplar Hill (Kenora Dist), Rainy River, Red Lake, Redditt,
      Sachigo Lake, Sandy Lake, Savant Lake, Sioux Lookout, Sioux Narrows, Stratton, Vermilion Bay,
      Wabigoon, Weagamow, Whitedog
    `,
    // West of 90 degrees, but by custom on Eastern standard time all year (IANA tz database).
    'America/Atikokan': 'Atikokan, Pickle Lake',
    // Next to Atikokan, whose time it may keep.
    'America/Winnipeg America/Atikokan': 'Sapawe',
    // Custom differs from the Act (IANA tz database), or sources disagree.
    'America/Toronto America/Winnipeg': `
      Big Trout Lake, Fort Severn, Kasabonika, Kingfisher Lake, Shebandowan, Summer Beaver, Upsala,
      Webequie, Wunnummin Lake
    `,
    'America/Toronto': `
      Armstrong, Beardmore, Caramat, Cloud Bay, Dorion, Fort Hope, Geraldton, Gull Bay, Hemlo,
      Hornepayne, Jellicoe, Kaministiquia, Lansdowne House, Longlac, Macdiarmid, Manitouwadge,
      Marathon, Nakina, Nipigon, Ogoki, Pass Lake, Raith, Red Rock, Schreiber, Terrace Bay,
      Thunder Bay, White River
    `,
  },
  QC: {
    // Legal Time Act, CQLR c. T-5.1: Eastern time west of 63 degrees west and in all of Minganie.
    // Atlantic time on the Magdalen Islands and in Listuguj. Atlantic standard time all year elsewhere.
    'America/Halifax': 'Cap-aux-Meules, Grande-Entree, Havre-Aubert, Havre-aux-Maisons',
    'America/Blanc-Sablon': `
      Blanc-Sablon, Bonne-Esperance, Chevery, Harrington Harbour, La Romaine, Mutton Bay,
      Saint-Augustin (Duplessis), Tete-a-la-Baleine
    `,
    // Serves Listuguj as well.
    'America/Toronto America/Halifax': 'Pointe-a-la-Croix',
    // In Minganie, but its exchange may also serve Kegaska, which is east of it.
    'America/Toronto America/Blanc-Sablon': 'Natashquan',
    'America/Toronto': `
      Aguanish, Albanel, Alma, Amqui, Anse-St-Jean, Armagh, Baie-Comeau, Baie-Comeau (Hauterive),
      Baie-Johan-Beetz, Baie-St-Paul, Baie-Ste-Catherine, Baie-Trinite, Baie-des-Sables, Barachois,
      Batiscan, Beauceville, Bergeronnes, Bic, Biencourt, Black Lake, Boischatel, Bonaventure,
      Cabano, Cap-Chat, Cap-Saint-Ignace, Cap-des-Rosiers, Caplan, Carleton, Causapscal, Chambord,
      Chandler, Chapais, Charny, Chateau-Richer, Chibougamau, Chicoutimi, Chute-aux-Outardes,
      Chute-des-Passes, Clarke City, Clermont, Cloridorme, Colombier, Courcelles, Delisle,
      Desbiens, Disraeli, Dolbeau, Donnacona, East Broughton, Esprit-Saint, Ferland, Fermont,
      Forestville, Frampton, Garthby, Gaspe, Girardville, Godbout, Grande-Riviere, Grande-Vallee,
      Havre-Saint-Pierre, Hebertville, Hebertville-Station, Ile-aux-Coudres, Inverness, Jonquiere,
      L'Ile-Verte, L'Islet, La Baie (Chicoutimi Co.), La Dore, La Guadeloupe, La Malbaie,
      La Martre, La Pocatiere, Lac Bouchette, Lac-Etchemin, Lac-Frontiere, Lac-au-Saumon,
      Lac-aux-Sables, Lambton, Laterriere, Leeds, Les Boules, Les Eboulements, Les Escoumins,
      Les Mechins, Levis, Loretteville, Luceville, Manicouagan 5, Maria, Matane, Matapedia,
      Metabetchouan, Milot, Mistissini, Moisie, Mont-Joli, Mont-Louis, Montmagny, Murdochville,
      Neuville, New Carlisle, New Richmond, Newport, Normandin, Notre-Dame-des-Laurentides,
      Notre-Dame-du-Lac, Nouvelle, Parc-des-Laurentides, Pentecote, Perce, Peribonka,
      Petite-Riviere-St-Francois, Pont-Rouge, Port-Cartier, Port-Daniel, Port-Menier, Portneuf,
      Quebec, Rimouski, Riviere-Bleue, Riviere-Saint-Jean, Riviere-a-Pierre, Riviere-au-Renard,
      Riviere-au-Tonnerre, Riviere-du-Loup, Roberval, Sacre-Coeur, Saint-Adelphe, Saint-Agapit,
      Saint-Alexis-de-Matapedia, Saint-Anselme, Saint-Antoine-de-Tilly, Saint-Apollinaire,
      Saint-Augustin, Saint-Basile, Saint-Bernard-de-Dorchester, Saint-Camille, Saint-Casimir,
      Saint-Charles, Saint-Come, Saint-Damien-de-Buckland, Saint-Edouard-de-Lotbiniere,
      Saint-Fabien, Saint-Fabien-de-Panet, Saint-Flavien, Saint-Francois, Saint-Gabriel,
      Saint-Gedeon-de-Beauce, Saint-Georges-de-Beauce, Saint-Henri-de-Levis, Saint-Jean-Port-Joli,
      Saint-Joseph-de-Beauce, Saint-Lambert-de-Lauzon, Saint-Leon-le-Grand, Saint-Luc,
      Saint-Magloire, Saint-Malachie, Saint-Marc-des-Carrieres, Saint-Martin, Saint-Michel,
      Saint-Moise, Saint-Odilon, Saint-Pamphile, Saint-Patrice-de-Beaurivage,
      Saint-Paul-de-Montminy, Saint-Prosper-de-Dorchester, Saint-Raphael, Saint-Raymond,
      Saint-Rene-de-Matane, Saint-Roch-des-Aulnaies, Saint-Simon-de-Rimouski, Saint-Stanislas,
      Saint-Theophile, Saint-Tite, Saint-Ubalde, Saint-Ulric, Saint-Zacharie,
      Sainte-Agathe-de-Lotbiniere, Sainte-Anne-de-la-Perade, Sainte-Anne-des-Monts,
      Sainte-Blandine, Sainte-Claire, Sainte-Croix, Sainte-Felicite, Sainte-Henedine,
      Sainte-Justine, Sainte-Lucie, Sainte-Marie-de-Beauce, Sainte-Perpetue, Sainte-Rose,
      Sainte-Thecle, Sault-au-Mouton, Sayabec, Schefferville, Sept-Iles, Squatec, St-Alexandre,
      St-Ambroise-de-Chicoutimi, St-Andre, St-Eleuthere, St-Ephrem-de-Beauce, St-Felicien,
      St-Ferdinand-D'Halifax, St-Fereol, St-Fidele, St-Fulgence, St-Gedeon, St-Hilarion, St-Honore,
      St-Honore (Chicoutimi Co.), St-Honore (Temiscouata Co.), St-Irenee, St-Jean-de-Dieu,
      St-Jean-ile-d'Orleans, St-Just-de-Bretenieres, St-Methode-de-Frontenac, St-Nicolas,
      St-Pacome, St-Pascal, St-Philippe-de-Neri, St-Prime, St-Simeon, St-Tite-des-Caps, St-Urbain,
      St-Victor-de-Beauce, Ste-Anne-de-Beaupre, Ste-Anne-de-Portneuf, Ste-Brigitte-de-Laval,
      Ste-Catherine, Ste-Petronille, Ste-Rose-du-Nord, Stoneham, Stratford, Tadoussac,
      Thetford Mines, Tring Jonction, Trois-Pistoles, Val-Alain, Val-Brillant, Valcartier,
      Vallee-Jonction, Ville Degelis
    `,
  },
  SD: {
    // In Walworth County, on the Central bank of the Missouri.
    'America/Chicago': 'MOBRIDGE',
  },
  SK: {
    // The Time Act: Central standard time all year. Lloydminster keeps Alberta's time by its charter.
    'America/Edmonton': 'Lloydminster',
    // The area around Lloydminster, which may choose Alberta's time.
    'America/Regina America/Edmonton': 'Lashburn, Maidstone, Marshall, Neilburg',
    // Keeps the time of Flin Flon, Manitoba, by custom and not by law.
    'America/Regina America/Winnipeg': 'Creighton',
    'America/Regina': `
      Aberdeen, Allan, Alvena, Asquith, Assiniboia, Avonlea, Balcarres, Balgonie, Beauval, Beechy,
      Bengough, Bethune, Bienfait, Big River, Biggar, Birch Hills, Blaine Lake, Borden, Briercrest,
      Broadview, Bruno, Buffalo Narrows, Cabri, Calder, Canoe Narrows, Canora, Canwood, Carlyle,
      Carnduff, Carrot River, Central Butte, Christopher Lake, Churchbridge, Climax, Coderre,
      Colonsay, Consul, Coronach, Craik, Cudworth, Cumberland House, Cupar, Cut Knife, Dalmeny,
      Davidson, Delisle, Dillon, Dinsmore, Duck Lake, Dundurn, Earl Grey, Eastend, Edam, Elrose,
      Esterhazy, Estevan, Eston, Eyebrow, Fillmore, Foam Lake, Fond Du Lac, Fort Qu'Appelle,
      Francis, Frontier, Glaslyn, Goodsoil, Gravelbourg, Green Lake, Grenfell, Gull Lake, Hafford,
      Hague, Hanley, Hepburn, Herbert, Hodgeville, Holdfast, Hudson Bay, Humboldt, Ile-A-La-Crosse,
      Imperial, Indian Head, Invermay, Ituna, Kamsack, Kelvington, Kerrobert, Kincaid, Kindersley,
      Kinistino, Kipling, Kyle, La Loche, La Ronge, Lafleche, Lampman, Langenburg, Langham,
      Lanigan, Leader, Leask, Lemberg, Leoville, Lestock, Loon Lake, Lucky Lake, Lumsden, Luseland,
      Macklin, Mankota, Maple Creek, Marquis, Maryfield, Maymont, Meacham, Meadow Lake, Meath Park,
      Melfort, Melville, Meota, Midale, Milestone, Montmartre, Moose Jaw, Moosomin, Morse,
      Mortlach, Mossbank, Naicam, Neidpath, Neville, Nipawin, Nokomis, Norquay, North Battleford,
      North Portal, Odessa, Osler, Outlook, Oxbow, Paddockwood, Pangman, Paradise Hill, Patuanak,
      Pelican Narrows, Pelly, Pennant, Pense, Perdue, Pierceland, Pinehouse, Plenty, Ponteix,
      Porcupine Plain, Preeceville, Prince Albert, Prudhomme, Punnichy, Qu'Appelle, Quill Lake,
      Radisson, Radville, Raymore, Redvers, Regina, Regina Beach, Rhein, Riceton, Rockglen,
      Rose Valley, Rosetown, Rosthern, Rouleau, Saltcoats, Sandy Bay, Saskatoon, Semans, Shaunavon,
      Shellbrook, Smeaton, Southend, Southey, Speers, Spiritwood, Springside, St. Louis,
      St. Walburg, Stanley Mission, Stony Rapids, Stoughton, Strasbourg, Sturgis, Swift Current,
      Theodore, Tisdale, Torquay, Tribune, Turnor Lake, Turtleford, Unity, Uranium City, Val Marie,
      Vanguard, Vonda, Wadena, Wakaw, Waldheim, Waskesiu Lake, Watrous, Watson, Wawota, Webb,
      Weyburn, Whitewood, Wilcox, Wilkie, Wollaston Lake, Wolseley, Wynyard, Yellow Creek,
      Yellow Grass, Yorkton
    `,
  },
}

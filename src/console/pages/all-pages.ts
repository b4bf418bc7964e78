/** All pages, in the order of the navigation. */
import type { Page } from '../pages.js'
import { consentPages } from './consents.js'
import { nowPages } from './now.js'
import { numberPages } from './number.js'
import { optOutPages } from './opt-outs.js'
import { searchPages } from './search.js'
import { whyPages } from './why.js'

export const allPages: readonly Page[] = [
  ...nowPages,
  ...searchPages,
  ...whyPages,
  ...numberPages,
  ...optOutPages,
  ...consentPages,
]

/** All pages, in the order of the navigation. */
import type { Page } from '../pages.js'
import { approvalPages } from './approvals.js'
import { attemptsPages } from './attempts.js'
import { auditPages } from './audit.js'
import { callerIdPages } from './caller-ids.js'
import { consentPages } from './consents.js'
import { keyPages } from './keys/keys.js'
import { listsPages } from './lists.js'
import { numberPages } from './number.js'
import { optOutPages } from './opt-outs.js'
import { projectsPages } from './projects.js'
import { rulesPages } from './rules.js'
import { searchPages } from './search.js'
import { statusPages } from './status.js'
import { whyPages } from './why.js'

export const allPages: readonly Page[] = [
  ...searchPages,
  ...whyPages,
  ...numberPages,
  ...optOutPages,
  ...consentPages,
  ...approvalPages,
  ...listsPages,
  ...rulesPages,
  ...projectsPages,
  ...attemptsPages,
  ...callerIdPages,
  ...keyPages,
  ...auditPages,
  ...statusPages,
]

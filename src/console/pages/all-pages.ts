/** All pages, in the order of the navigation. */
import type { Page } from '../pages.js'
import { approvalPages } from './approvals.js'
import { auditPages } from './audit.js'
import { changePages } from './changes.js'
import { evidencePages } from './evidence.js'
import { keyPages } from './keys/keys.js'
import { listsPages } from './lists.js'
import { nowPages } from './now.js'
import { projectsPages } from './projects.js'
import { attemptsPages } from './records/attempts.js'
import { callerIdPages } from './records/caller-ids.js'
import { consentPages } from './records/consents.js'
import { numberPages } from './records/number.js'
import { optOutPages } from './records/opt-outs.js'
import { rulesPages } from './rules.js'
import { searchPages } from './search.js'
import { statusPages } from './status.js'
import { whyPages } from './why.js'

export const allPages: readonly Page[] = [
  ...nowPages,
  ...searchPages,
  ...whyPages,
  ...numberPages,
  ...optOutPages,
  ...consentPages,
  ...approvalPages,
  ...evidencePages,
  ...changePages,
  ...listsPages,
  ...rulesPages,
  ...projectsPages,
  ...attemptsPages,
  ...callerIdPages,
  ...keyPages,
  ...auditPages,
  ...statusPages,
]

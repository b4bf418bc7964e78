/** The routes of the projects of an account with their hours. */
import { projectHoursEndpoint, projectsEndpoint } from '../../api/accounts/project-hours.js'
import { createRoute, type Route } from '../../api/route.js'
import { canUseScope } from '../../domain/caller.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { AppContext } from '../app-context.js'

export function createProjectRoutes({ projects }: Pick<AppContext, 'projects'>): readonly Route[] {
  return [
    createRoute(projectsEndpoint, async (caller) => {
      const all = await projects.listWithHours(caller.accountId)
      return {
        projects: all
          .filter(({ code }) => canUseScope(caller, { projectId: code }))
          .map(({ code, name, status, ftcStatus, registrations, hours, createdAt }) => ({
            ...{ code, name, status, ftcStatus, hours },
            isMaster: code === caller.accountId,
            registrations: registrations.map(({ submittedAt, ...rest }) => ({
              ...rest,
              submittedAt: submittedAt === null ? null : formatInstant(submittedAt),
            })),
            createdAt: formatInstant(createdAt),
          })),
      }
    }),
    createRoute(
      projectHoursEndpoint,
      async (caller, { code, region, remove, reason, ...hours }) => {
        const project = { accountId: caller.accountId, code }
        const { monFri = '', sat = '', sun = '', effectiveFrom, effectiveUntil } = hours
        const by = { caller, reason }
        if (remove) await projects.removeHours(project, region, by)
        else {
          const input = { monFri, sat, sun, effectiveFrom, effectiveUntil }
          await projects.setHours(project, region, input, by)
        }
        return { done: true } as const
      },
    ),
  ]
}

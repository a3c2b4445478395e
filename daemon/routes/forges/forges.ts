import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { App } from '../../../src/app.ts'
import { Problem } from '../../../src/contract/errors.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as projects from '../../../src/domain/projects/projects.ts'
import { findProjectForge } from '../../../src/forge/forgeAccess.ts'
import { giveForgeSecret, takeDelivery } from '../../../src/pullRequests/deliveries.ts'
import { forgeOf } from '../../../src/store/projects/projects.ts'
import { serverUrl } from '../../documents/serverUrl.ts'
import type { Handlers } from '../../http/handlers.ts'

/** The maximum number of deliveries per minute and address. */
const maxDeliveries = 600

export const forgesRoutes = (
  app: Pick<App, 'config' | 'db' | 'deviceGrants' | 'issues' | 'pullRequestLoop' | 'seal'>,
): Handlers<Contract['forges']> => ({
  ...webhookRoutes(app),
  get: async ({ projectId }) => {
    const project = await projects.find(app.db, projectId)
    const settings = forgeOf(project)
    const nothing = { settings, kind: settings.kind, url: null, repository: null, remote: settings.remote }
    if (settings.kind === 'command') return { ...nothing, problem: null }
    try {
      const { address, remote } = await findProjectForge(app, project)
      const { kind, webUrl, repository } = address
      return { settings, kind, url: `${webUrl}/${repository}`, repository, remote: remote.name, problem: null }
    } catch (error) {
      if (error instanceof Problem && error.code !== 'SEALED_WITH_OTHER_KEY')
        return { ...nothing, problem: error.message }
      throw error
    }
  },
})

function webhookRoutes(
  app: Pick<App, 'config' | 'db' | 'issues' | 'pullRequestLoop' | 'seal'>,
): Pick<Handlers<Contract['forges']>, 'giveWebhookSecret' | 'deliver'> {
  const limiter = new RateLimiterMemory({ points: maxDeliveries, duration: 60 })
  return {
    giveWebhookSecret: ({ projectId }, call) =>
      call.write(
        tx => giveForgeSecret(app.seal, tx, projectId),
        secret => ({ url: `${serverUrl(app, call)}/api/forge-webhooks/${projectId}`, secret }),
      ),
    deliver: async ({ projectId }, { request, address, bytes }) => {
      await limiter.consume(address).catch(({ msBeforeNext }: RateLimiterRes) => {
        throw new Problem('RATE_LIMITED', undefined, { retryAfterSecs: Math.ceil(msBeforeNext / 1000) })
      })
      const delivery = await takeDelivery(app, projectId, request.headers, bytes!)
      if (delivery?.issue !== undefined) await app.issues.noteDelivery(projectId, delivery.issue)
      else if (delivery) app.pullRequestLoop.wake()
      return new Response(null, { status: 202 })
    },
  }
}

import type { App } from '../../../src/app.ts'
import { landCard, planLanding } from '../../../src/cardWork/landCard.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as landings from '../../../src/domain/cards/landings.ts'
import { find as findProject } from '../../../src/domain/projects/projects.ts'
import { listLandingProofs } from '../../../src/store/cards/proofs.ts'
import { listLandings } from '../../../src/store/forges/landings.ts'
import { proof as proofView } from '../../../src/views/gates.ts'
import { landing as landingView } from '../../../src/views/landings.ts'
import type { Call, Handlers } from '../../http/handlers.ts'
import { startingWrite } from '../cards/startingWrite.ts'

/** The routes of the landing queue. */
export function landingsRoutes(
  app: Pick<App, 'db' | 'landing' | 'supervisor' | 'worktrees'>,
): Handlers<Contract['landings']> {
  const { db, landing: queue, worktrees } = app
  const setPaused = ({ projectId }: { projectId: number }, call: Call, isPaused: boolean) =>
    call.write(tx => landings.setPaused(tx, queue, projectId, isPaused))
  return {
    list: async ({ projectId }) => ({
      isPaused: (await findProject(db, projectId)).landingPaused === 1,
      entries: (await listLandings(db, projectId)).map(landingView),
    }),
    get: async ref => {
      const landing = await landings.find(db, ref)
      return { ...landingView(landing), proofs: (await listLandingProofs(db, landing.id)).map(proofView) }
    },
    add: async ({ into, squash, ...card }, call) => {
      const ref = { ...card, caller: call.caller }
      const plan = await planLanding(worktrees, db, ref, into)
      return startingWrite(app, call, tx => landCard(tx, queue, ref, { ...plan, squash }), landingView)
    },
    cancel: (ref, call) => call.write(tx => landings.cancel(tx, queue, ref)),
    pause: (ref, call) => setPaused(ref, call, true),
    resume: (ref, call) => setPaused(ref, call, false),
  }
}

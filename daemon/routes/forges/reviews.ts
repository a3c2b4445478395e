import { submitReview } from '../../../src/agents/sessions/requestChanges.ts'
import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as cards from '../../../src/domain/cards/cards.ts'
import { changedFileOf } from '../../../src/cardWork/changes.ts'
import * as projects from '../../../src/domain/projects/projects.ts'
import { workIn } from '../../../src/cardWork/repositoryWork.ts'
import * as drafts from '../../../src/cardWork/reviewDrafts.ts'
import * as reviews from '../../../src/cardWork/reviews.ts'
import { review } from '../../../src/views/reviews.ts'
import type { Handlers } from '../../http/handlers.ts'

export const reviewsRoutes = (
  app: Pick<App, 'db' | 'logs' | 'supervisor' | 'worktrees'>,
): Handlers<Contract['reviews']> => ({
  getDraft: (ref, { caller }) => drafts.findDraft(app.db, { ...ref, caller }),
  putDraft: ({ body, comments, ...ref }, call) =>
    call.write(
      tx => drafts.saveDraft(tx, { ...ref, caller: call.caller }, { body, comments }),
      draft => draft,
    ),
  changedFile: async ({ path, side, since, repository, ...ref }) => {
    const start = since === undefined ? undefined : await reviews.startOf(app.db, ref, since, repository)
    const [found, inProject] = [await cards.find(app.db, ref), await projects.find(app.db, ref.projectId)]
    const { card, project } = await workIn(app.db, found, inProject, repository)
    return {
      content: (await changedFileOf(app.worktrees, card, project, { path, side, since: start })).toString('base64'),
    }
  },
  list: async ref => (await reviews.list(app.db, ref)).map(review),
  create: async ({ projectId, cardId, ...input }, call) => {
    const ref = { projectId, cardId, caller: call.caller }
    const project = await projects.find(app.db, projectId)
    const checked = await reviews.check(app.worktrees, app.db, ref, project, input)
    await app.supervisor.refresh()
    let added: reviews.ReviewWithComments | undefined
    const answer = await call.write(async tx => {
      added = await submitReview(tx, app.supervisor, ref, checked)
      return added
    }, review)
    if (added) await reviews.keepReviewed(app.logs.log, project, added, checked)
    return answer
  },
})

import { readFileSync } from 'node:fs'
import { createForge } from '../../../src/forge/createForge.ts'
import { ForgeFailed, type Forge, type ForgeAddress } from '../../../src/forge/forge.ts'

/** A forge's command in the form of docs/forges.md, for the forge in the file of its argument. */
const { address, token } = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as {
  address: ForgeAddress
  token: string
}
const forge = createForge(address, token, { dispatcher: undefined })
const maxLogBytes = 1_000_000
const nothing = () => ({})
const taken = ({ pull, notTaken }: Awaited<ReturnType<Forge['createPull']>>) => ({ ...pull, notTaken })
const actions: Record<string, (asked: any) => Promise<unknown>> = {
  account: async () => ({ account: await forge.account() }),
  repository: () => forge.repository(),
  find: async ({ branch }) => (await forge.findPull(branch)) ?? null,
  create: async asked => taken(await forge.createPull(asked)),
  read: ({ number }) => forge.readPull(number),
  update: async ({ number, ...change }) => taken(await forge.updatePull(number, change)),
  close: ({ number }) => forge.closePull(number).then(nothing),
  merge: async ({ number, ...how }) => ({ commit: await forge.mergePull(number, how) }),
  checks: async pull => ({ checks: await forge.listChecks(pull) }),
  log: async ({ check }) => ({ log: (await forge.readCheckLog(check, maxLogBytes)) ?? null }),
  reviews: async ({ number }) => ({ reviews: await forge.listReviews(number) }),
  comments: async ({ number }) => ({ comments: await forge.listPullComments(number) }),
  comment: ({ number, body, to }) => forge.commentOnPull(number, body, to),
  issues: async query => ({ issues: await forge.listIssues(query) }),
  issue: ({ number }) => forge.readIssue(number),
  closeIssue: ({ number }) => forge.closeIssue(number).then(nothing),
  reopenIssue: ({ number }) => forge.reopenIssue(number).then(nothing),
  issueComments: async ({ number, since }) => ({ comments: await forge.listIssueComments(number, since) }),
  commentIssue: ({ number, body }) => forge.commentOnIssue(number, body),
  editIssueComment: ({ number, id, body }) => forge.editIssueComment(number, id, body).then(nothing),
  deleteIssueComment: ({ number, id }) => forge.deleteIssueComment(number, id).then(nothing),
}

const { action, ...asked } = JSON.parse(readFileSync(0, 'utf8')) as { action: string }
const answer = await (actions[action]?.(asked) ?? Promise.resolve({ unsupported: true })).catch((error: unknown) => {
  if (!(error instanceof ForgeFailed)) throw error
  const { reason, message, retryAt } = error
  const known = reason === 'odd' ? 'unreachable' : reason
  return { error: { reason: known, message, ...(retryAt && { retryAt: new Date(retryAt).toISOString() }) } }
})
process.stdout.write(JSON.stringify(answer))

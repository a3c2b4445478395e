import * as v from 'valibot'
import { Id, integer, refTo, text } from '../fields.ts'
import { ofProject } from '../notFound.ts'
import { anyone, get, manager, post, viewer } from '../route.ts'

/** Where a project's work is reviewed and merged. `command`: any other forge, through a program of the project. */
export const ForgeKind = v.picklist(
  ['github', 'gitlab', 'gitea', 'command'],
  'must be github, gitlab, gitea or command',
)
export type ForgeKind = v.InferOutput<typeof ForgeKind>
export const MergeMethod = v.picklist(['merge', 'squash', 'rebase'], 'must be merge, squash or rebase')
export type MergeMethod = v.InferOutput<typeof MergeMethod>

const RemoteName = v.pipe(
  text(1, 200),
  v.regex(/^[A-Za-z0-9_][A-Za-z0-9_./-]*$/, 'must be the name of a Git remote, such as origin'),
)
export const BranchName = v.pipe(
  text(1, 200),
  v.check(
    name => !/^-|^\/|\/$|\.\.|\/\/|@\{|[\p{Cc} ~^:?*[\\]|\.lock$|\.$/u.test(name),
    'must be the name of a branch',
  ),
)
const ForgeCommand = text(1, 4096)
const IssueLabel = text(1, 100)

/** The limits of a project's forge. `maxRounds`: how often an agent resumes its work on one pull request. */
export const forgeLimits = { minRounds: 0, maxRounds: 100, rounds: 5 } as const

const forgeEntries = {
  /** Null: according to the remote's address. */
  kind: v.nullable(ForgeKind),
  /** Null: the remote that the checked-out branch follows, otherwise origin. */
  remote: v.nullable(RemoteName),
  /** The branch that work is merged into. Null: the forge's default branch. */
  base: v.nullable(BranchName),
  /** The adapter for other forges: a program that reads a request and prints its response, both as JSON. */
  command: v.nullable(ForgeCommand),
  /** Issues with this label become cards. Null: none. */
  issueLabel: v.nullable(IssueLabel),
  /** Whether comments are copied in both directions between an issue and its card. */
  issueComments: v.boolean(),
  /** Whether a pull request is merged as soon as the forge allows it. */
  autoMerge: v.boolean(),
  mergeMethod: MergeMethod,
  maxRounds: integer(forgeLimits.minRounds, forgeLimits.maxRounds),
}
export const ForgeSettings = v.object({
  ...forgeEntries,
  /**
   * The credential with the token for the forge's API and for pushing over HTTP. The token is sent only to the credential's own
   * address.
   */
  credentialId: v.nullable(Id),
})
export type ForgeSettings = v.InferOutput<typeof ForgeSettings>
export const ChangedForge = v.strictObject({
  ...v.partial(v.object(forgeEntries)).entries,
  credentialId: v.optional(v.nullable(refTo('CREDENTIAL_NOT_FOUND'))),
})
export type ChangedForge = v.InferOutput<typeof ChangedForge>

export const defaultForge: ForgeSettings = {
  kind: null,
  remote: null,
  base: null,
  credentialId: null,
  command: null,
  issueLabel: null,
  issueComments: false,
  autoMerge: false,
  mergeMethod: 'merge',
  maxRounds: forgeLimits.rounds,
}

/** The forge that results from a project's settings, its remote and its credential. */
const FoundForge = v.object({
  settings: ForgeSettings,
  kind: v.nullable(ForgeKind),
  /** The address of the repository's page. */
  url: v.nullable(v.string()),
  /** owner/name */
  repository: v.nullable(v.string()),
  /** The name of the Git remote. */
  remote: v.nullable(v.string()),
  /** Why there is no forge. */
  problem: v.nullable(v.string()),
})

/** The maximum length of a delivery. GitHub's deliveries have at most 25 MB, and the relevant ones far less. */
const maxDeliveryBytes = 5 * 1024 * 1024
const WebhookSecret = v.object({
  /** The address for the forge's deliveries. */
  url: v.string(),
  /** The secret that signs deliveries. It is shown once. */
  secret: v.string(),
})

/** A project's forge, which is changed with the project. */
export const forges = {
  get: get('/api/projects/{projectId}/forge', {
    notFound: ofProject,
    at: 'machine',
    who: viewer('projects.read'),
    fails: ['SEALED_WITH_OTHER_KEY'],
    summary: "Get a project's forge, based on its settings, Git remote and credential",
    output: FoundForge,
  }),
  giveWebhookSecret: post('/api/projects/{projectId}/forge/webhook-secret', {
    notFound: ofProject,
    audited: { target: 'project' },
    who: manager('webhooks.write'),
    summary: "Create the secret that signs the forge's webhook deliveries",
    details: 'It replaces the previous secret.',
    output: WebhookSecret,
    idempotent: false,
    status: 201,
  }),
  deliver: post('/api/forge-webhooks/{projectId}', {
    notFound: ofProject,
    who: anyone,
    signed: true,
    maxBytes: maxDeliveryBytes,
    rateLimit: 'deliveries',
    fails: ['UNAUTHENTICATED'],
    summary: "Receive a webhook delivery from a forge, signed with the project's secret",
    details: 'The server queries the forge for the current data.',
    transfer: 'raw',
    answers: { 202: { description: 'The delivery is accepted, or was accepted earlier' } },
  }),
}

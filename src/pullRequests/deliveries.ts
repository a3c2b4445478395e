import { randomBytes } from 'node:crypto'
import { Problem } from '../contract/errors.ts'
import { readDelivery, type ForgeDelivery } from '../forge/deliveries.ts'
import type { ForgeAddress } from '../forge/forge.ts'
import type { Seal } from '../identity/seal.ts'
import type { Database, Transaction } from '../store/engine/database.ts'
import { insertForgeDelivery, readForgeSecret, setForgeSecret } from '../store/forges/forgeWebhooks.ts'
import { wakePullRequests } from '../store/forges/pullRequestReads.ts'

const secretBytes = 32
type Headers = Readonly<Record<string, string | string[] | undefined>>

const placeOf = (projectId: number) => `projects/${projectId}/forge-webhook-secret`

/** Creates a new secret for a project's forge deliveries, and returns it. It is shown only this once. */
export async function giveForgeSecret(seal: Seal, tx: Transaction, projectId: number): Promise<string> {
  const secret = randomBytes(secretBytes).toString('base64url')
  await setForgeSecret(tx, projectId, seal.seal(placeOf(projectId), secret))
  return secret
}

/**
 * Receives a delivery of a project's forge, which only triggers reads of the forge. A repeated delivery has no effect.
 * @returns the delivery, if it is new
 * @throws Problem UNAUTHENTICATED if it is not signed with the project's secret. The message does not state the reason
 */
export async function takeDelivery(
  { db, seal }: { db: Database; seal: Seal },
  projectId: number,
  headers: Headers,
  body: Buffer,
): Promise<ForgeDelivery | undefined> {
  const sealed = await readForgeSecret(db, projectId)
  const secret = typeof sealed === 'string' ? seal.open(placeOf(projectId), sealed) : ''
  const kind = kindOf(headers)
  const delivery = kind && readDelivery(kind, headers, body, secret)
  if (!delivery) throw new Problem('UNAUTHENTICATED', 'The delivery is not signed with the secret of the project.')
  const isNew = await db.transaction(async tx => {
    if (!(await insertForgeDelivery(tx, projectId, delivery.id))) return false
    const { kind, number, branch, commit, issue } = delivery
    if (kind !== 'ping' && kind !== 'other' && issue === undefined)
      await wakePullRequests(tx, projectId, { number, branch, commit })
    return true
  })
  return isNew ? delivery : undefined
}

/** Gitea and Forgejo also send GitHub's headers. */
const kindOf = (headers: Headers): ForgeAddress['kind'] | undefined =>
  headers['x-gitea-event'] !== undefined || headers['x-forgejo-event'] !== undefined
    ? 'gitea'
    : headers['x-gitlab-event'] !== undefined
      ? 'gitlab'
      : headers['x-github-event'] !== undefined
        ? 'github'
        : undefined

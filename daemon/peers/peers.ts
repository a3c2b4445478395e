import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { App } from '../../src/app.ts'
import { Problem } from '../../src/contract/errors.ts'
import { forwardTokenHeader, signForwardToken, type ForwardToken } from '../../src/identity/forwardTokens.ts'
import { readLeaseHolder, type LeaseHolder } from '../../src/store/server/daemons.ts'
import type { RemoteAttachment, Machine } from '../../src/transfers/remoteAttachments.ts'

/** The services that requests to other daemons use. */
export type PeerDependencies = Pick<App, 'db' | 'membership' | 'seal'>

/** The header with the forwarding daemon. A forwarded request is never forwarded again. */
export const forwardedByHeader = 'x-board-passed-on'
/** The timeout of a forwarded request. */
export const forwardTimeoutMs = 10 * 60_000
const connectMs = 2000
const [maxWaitMs, pollMs, aliveMs] = [2500, 200, 10_000]
const [fileHeadersTimeoutMs, fileBodyTimeoutMs, tokenMs] = [10_000, 60_000, 10_000]

/**
 * Finds the machine with a project's folder, and its daemon. With `waits`, waits for a daemon that disappeared recently,
 * or for its successor.
 */
export async function findLeaseHolder(
  { db, membership }: Omit<PeerDependencies, 'seal'>,
  projectId: number,
  waits: boolean,
): Promise<LeaseHolder | undefined> {
  for (const giveUpAt = performance.now() + maxWaitMs; ; await delay(pollMs)) {
    const worker = await readLeaseHolder(db, projectId)
    const mayCome =
      worker !== undefined &&
      worker.daemonId === null &&
      worker.seenMsAgo !== null &&
      worker.seenMsAgo < aliveMs &&
      !(worker.host === db.host && membership.has('machine'))
    if (!mayCome || !waits || performance.now() > giveUpAt) return worker
  }
}

export const machineUnavailable = (host: string, cause?: unknown): Problem =>
  new Problem('MACHINE_UNAVAILABLE', `No daemon is running on the machine ${host}, which has the project's folder.`, {
    retryAfterSecs: 2,
    cause,
  })

/** The header that signs a forwarded request of the operator. */
export const signForwarded = (
  { seal }: Pick<PeerDependencies, 'seal'>,
  pass: Omit<ForwardToken, 'expiresAtMs'>,
): Record<string, string> => ({
  [forwardTokenHeader]: signForwardToken(seal, { ...pass, expiresAtMs: Date.now() + tokenMs }),
})

/** Connections to the other daemons, as long as the board is open. */
export async function peerConnections({ membership }: Pick<PeerDependencies, 'membership'>): Promise<{
  request: Undici['request']
  dispatcher: InstanceType<Undici['Agent']>
}> {
  const { Agent, request } = await import('../../src/client/undici.ts')
  const dispatcher =
    agents.get(membership) ?? new Agent({ connect: { timeout: connectMs }, bodyTimeout: forwardTimeoutMs })
  agents.set(membership, dispatcher)
  return { request, dispatcher }
}

type Undici = typeof import('../../src/client/undici.ts')
const agents = new WeakMap<App['membership'], InstanceType<Undici['Agent']>>()

/**
 * The machine that has a project's files, and how to reach it if it is another one. Undefined with a single machine.
 */
export async function machineOf(peers: PeerDependencies, projectId: number): Promise<Machine | undefined> {
  const worker = peers.db.isShared ? await findLeaseHolder(peers, projectId, true) : undefined
  if (!worker || worker.host === null) return undefined
  const { host, daemonId, url } = worker
  if (daemonId === null || url === null || daemonId === peers.membership.id) return { name: host, fetch: undefined }
  return { name: host, fetch: (file, path, signal) => fetchFile(peers, { host, daemonId, url }, file, path, signal) }
}

/**
 * Fetches the file of an attachment from the daemon that has it.
 * @returns false if that daemon's file is missing or differs
 * @throws Problem MACHINE_UNAVAILABLE, the signal's reason, or the disk's error
 */
async function fetchFile(
  peers: PeerDependencies,
  from: { host: string; daemonId: string; url: string },
  { id, size, sha256 }: RemoteAttachment,
  path: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { request, dispatcher } = await peerConnections(peers)
  const [method, url] = ['GET' as const, `/api/attachments/${id}`]
  const headers = {
    [forwardedByHeader]: peers.membership.id,
    ...signForwarded(peers, { method, url, daemonId: from.daemonId }),
  }
  const throwUnavailable = (cause: unknown) => {
    throw signal.aborted ? signal.reason : machineUnavailable(from.host, cause)
  }
  const { statusCode, body } = await request(from.url.replace(/\/$/, '') + url, {
    method,
    dispatcher,
    signal,
    headersTimeout: fileHeadersTimeoutMs,
    bodyTimeout: fileBodyTimeoutMs,
    headers,
  }).catch(throwUnavailable)
  if (statusCode !== 200) {
    await body.dump().catch(() => {
      /* The body is not needed. */
    })
    return statusCode >= 500 ? throwUnavailable(statusCode) : false
  }
  const file = await open(path, 'wx', 0o600)
  try {
    const hash = createHash('sha256')
    let got = 0
    const chunks = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
    for (
      let next = await chunks.next().catch(throwUnavailable);
      !next.done && got <= size;
      next = await chunks.next().catch(throwUnavailable)
    ) {
      hash.update(next.value)
      got += next.value.length
      await file.appendFile(next.value)
    }
    return got === size && hash.digest('hex') === sha256
  } finally {
    body.destroy()
    await file.close()
  }
}

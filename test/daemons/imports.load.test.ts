import { beforeAll, describe, expect, it } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import { insertHiddenProject } from '../../src/store/projects/imports.ts'
import { type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { isSharable, startSharing } from './sharing.ts'

describe.skipIf(!isSharable)('an import of a daemon', () => {
  let first: TestBoard
  let second: TestBoard
  let elsewhere: TestBoard
  beforeAll(async () => {
    const sharing = await startSharing()
    first = await sharing.join('one')
    await eventually('the duty', () => first.server.app.membership.has('machine'))
    second = await sharing.join('one')
    elsewhere = await sharing.join('two')
  })

  /** A project in the middle of an import by this daemon, or by an unknown one. */
  const halfImported = ({ server: { app } }: TestBoard, importer = app.membership.id) =>
    app.db.transaction(tx =>
      insertHiddenProject(tx, { name: 'Half', path: '/', ownerId: 0, importer, agent: null, copiedFiles: '[]' }),
    )
  const hidden = async () =>
    (await first.server.app.db.all<{ id: number }>('SELECT id FROM projects WHERE hidden = 1 ORDER BY id')).map(
      ({ id }) => id,
    )
  const tidy = () =>
    periodicJobs(first.server.app)
      .find(({ name }) => name.includes('imports'))!
      .run(new AbortController().signal)

  it('is kept while its daemon runs, and is removed after that daemon has ended by another one of its machine', async () => {
    const [own, others, far] = [await halfImported(first), await halfImported(second), await halfImported(elsewhere)]
    const [died, diedFar] = [await halfImported(first, 'died'), await halfImported(elsewhere, 'died')]
    await tidy()
    expect(await hidden()).toEqual([own, others, far, diedFar])
    expect(died).not.toBe(own)
    await second.server.stop()
    await tidy()
    expect(await hidden()).toEqual([own, far, diedFar])
  })

  it('is removed a minute after a crash, when it can no longer be a short pause', async () => {
    const { db } = first.server.app
    const half = await halfImported(first, 'crashed')
    const seen = (secsAgo: number) =>
      db.transaction(tx =>
        tx.run(
          `INSERT INTO daemons (id, host, url, version, started_at, seen_at_ms) VALUES ('crashed', 'one', 'http://127.0.0.1:1', '0', '', (unixepoch() - ?1) * 1000) ON CONFLICT DO UPDATE SET seen_at_ms = excluded.seen_at_ms`,
          [secsAgo],
        ),
      )
    await seen(50)
    await tidy()
    expect(await hidden()).toContain(half)
    await seen(70)
    await tidy()
    expect(await hidden()).not.toContain(half)
  })
})

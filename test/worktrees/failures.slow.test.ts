import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findPlace } from '../../src/worktrees/findPlace.ts'
import { openProjects, write, unrecorded, type TestProject } from '../git/cards.ts'
import { hasSandbox } from '../git/sandboxSession.ts'

let projects: Awaited<ReturnType<typeof openProjects>>
let project: TestProject
let worktree: string
beforeAll(async () => {
  projects = await openProjects()
  project = await projects.project('project')
  worktree = (await (await project.card()).start()).cwd
  write(worktree, 'new', 'new\n')
})
afterAll(() => projects.close())

const patch = async (send: (bytes: Buffer) => Promise<void>) =>
  projects.worktrees.run(
    'writePatch',
    { worktree: await findPlace(unrecorded(project.path), worktree), branch: null },
    send,
  )

describe.skipIf(!hasSandbox)('the process of a worktree', () => {
  it('reports the failure of the receiver, and serves the next operation', async () => {
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    await expect(patch(() => Promise.reject(full))).rejects.toBe(full)
    const parts: Buffer[] = []
    await patch(async bytes => void parts.push(bytes))
    expect(Buffer.concat(parts).toString()).toContain('+new')
  })
})

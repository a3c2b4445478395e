import { setTimeout } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { startBoard } from '../support/servers/testBoard.ts'

describe('the progress of a restore', () => {
  it('reports the steps in their order, and null before and after the restore', async () => {
    const board = await startBoard()
    try {
      const { client } = board
      await client.projects.create({ name: 'work', path: board.folder('work') })
      const { filename } = await client.backups.create({ withKey: false })
      expect((await client.backups.restoring()).progress).toBeNull()
      const steps: string[] = []
      let isRunning = true
      const restored = client.backups.restore({ filename }).finally(() => (isRunning = false))
      while (isRunning) {
        await setTimeout(20)
        // The server rejects requests while it opens the restored database.
        const { progress } = await client.backups.restoring().catch(() => ({ progress: null }))
        if (!progress) continue
        expect(progress.filename).toBe(filename)
        if (steps.at(-1) !== progress.step) steps.push(progress.step)
      }
      await restored
      const order = ['verify', 'keep', 'replace']
      expect(steps[0]).toBe('verify')
      expect(steps).toEqual(order.filter(step => steps.includes(step)))
      expect((await client.backups.restoring()).progress).toBeNull()
      await expect(client.backups.restore({ filename: 'board-20000101-000000.tar.gz' })).rejects.toMatchObject({
        code: 'BACKUP_NOT_FOUND',
      })
      expect((await client.backups.restoring()).progress).toBeNull()
    } finally {
      await board.close()
    }
  })
})

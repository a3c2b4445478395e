import { join } from 'node:path'
import { importBundled, root, temporaryFolder } from '../support/run/bundle.mjs'

const folder = temporaryFolder('pictures')
const { takePictures } = await importBundled(folder, { main: join(import.meta.dirname, 'main.ts') })
await takePictures({
  folder,
  board: join(root, 'bin', 'board.js'),
  agent: join(root, 'test', 'fixtures', 'agents', 'shop.mjs'),
  pictures: join(root, 'docs', 'pictures'),
})

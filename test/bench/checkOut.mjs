import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Writes a commit's files and its packages to a folder. Does not use `git worktree`, because an interrupted run would leave a record in the repository.
 * @param {string} root the repository
 * @param {string} commit
 * @param {string} folder
 */
export function checkOut(root, commit, folder) {
  mkdirSync(folder)
  const files = execFileSync('git', ['-C', root, 'archive', '--format=tar', commit, '--'], {
    maxBuffer: 2 ** 30,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  execFileSync('tar', ['-xf', '-', '-C', folder], { input: files })
  const lock = 'package-lock.json'
  if (readFileSync(join(folder, lock)).equals(readFileSync(join(root, lock))))
    return symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  execFileSync('npm', ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

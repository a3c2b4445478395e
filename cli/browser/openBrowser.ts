import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Opens a URL in the user's browser: with the command in BROWSER (`%s` stands for the URL), otherwise with the platform's command. The URL
 * is an argument that others on the machine can see.
 * @returns whether a program could be started
 */
export async function openBrowser(url: string): Promise<boolean> {
  const [file, ...args] = openerCommand(url)
  if (file === undefined) return false
  const browser = spawn(file, args, { stdio: 'ignore', detached: true })
  const isStarted = once(browser, 'spawn').then(
    () => true,
    () => false,
  )
  browser.unref()
  return isStarted
}

function openerCommand(url: string): string[] {
  const { env } = process
  const words = (env.BROWSER ?? '')
    .trim()
    .split(/\s+/)
    .filter(word => word !== '')
  if (words.length > 0)
    return words.some(word => word.includes('%s'))
      ? words.map(word => word.replaceAll('%s', () => url))
      : [...words, url]
  if (process.platform === 'darwin') return ['open', url]
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url]
  // Without a display, only terminal browsers would be found, and the terminal is in use.
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open', url] : []
}

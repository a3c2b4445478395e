import type { CSSProperties } from 'react'

const hueStep = 30

/** Returns the style that gives an element of class `tinted` a color of its text. Equal texts have equal colors. */
export function tintOf(text: string): CSSProperties {
  // FNV-1a
  let hash = 0x811c9dc5
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193)
  return { '--tint-hue': ((hash >>> 0) % (360 / hueStep)) * hueStep } as CSSProperties
}

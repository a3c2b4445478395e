/**
 * Returns the attributes of an element that shows a tooltip. An element with another name is also described by the text.
 * Unlike a component per element, they cost nothing on a board with thousands of cards.
 * @param keys - the shortcut of the element: `Ctrl-K`
 */
export const tooltip = (text: string | undefined, { keys, isName = false }: { keys?: string; isName?: boolean } = {}) =>
  text === undefined
    ? undefined
    : { 'data-tooltip': text, 'data-keys': keys, 'aria-description': isName ? undefined : text }

/** The names of a path's parameters, in order. */
export const paramsOf = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)

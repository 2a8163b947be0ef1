// TODO
export function isLeap() {}

"""The wire format of protocol buffers for stand-ins of servers, which refuse what is malformed."""


class Invalid(Exception):
    """What a server would refuse."""


def need(ok, why):
    if not ok:
        raise Invalid(why)


def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, "a varint is truncated or too long")
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value & 0xffffffffffffffff, at
        shift += 7


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def text(data):
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Invalid("a string is not UTF-8") from None


def fields(data):
    """(number, value) of each field: an int, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            if kind == 2:
                size, at = varint(data, at)
            else:
                need(kind in (1, 5), "wire type %d" % kind)
                size = 8 if kind == 1 else 4
            value = data[at:at + size]
            need(len(value) == size, "a field reaches beyond its message")
            at += size
            if kind != 2:
                value = int.from_bytes(value, "little")
        yield tag >> 3, value


def numbers(value):
    """A repeated number: packed bytes or a single one."""
    if isinstance(value, int):
        return [value]
    result, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        result.append(number)
    return result


def message(data, shape):
    """The fields of a message by number, each with its default from shape: 0, b"", [] for repeated
    messages, () for repeated numbers. Other fields are refused: the sender means something that the
    receiver would not understand."""
    got = {number: list(default) if isinstance(default, (list, tuple)) else default
           for number, default in shape.items()}
    for number, value in fields(data):
        need(number in shape, "field %d does not exist" % number)
        if isinstance(shape[number], tuple):
            got[number] += numbers(value)
        elif isinstance(shape[number], list):
            need(isinstance(value, bytes), "field %d is a number" % number)
            got[number].append(value)
        else:
            need(isinstance(value, type(shape[number])), "field %d has the wrong type" % number)
            got[number] = value
    return got

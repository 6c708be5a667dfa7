# A server in Perl 5, with its core modules alone: a language that examples/ has not, written from docs/protocol.md.
use strict;
use warnings;
use JSON::PP;
my %size = (F64 => 8, F32 => 4, F16 => 2, BF16 => 2, I64 => 8, I32 => 4, U32 => 4, BOOL => 1, I8 => 1, U8 => 1);
my $description = {
  protocol => 1, name => "perl", version => "$]", dtypes => ["float32"],
  operations => {relu => {arrays => ["x"]}, rms_norm => {arrays => ["x", "weight"], keywords => ["eps"]}},
};

sub receive {
  my ($size, $header, $data) = (0, "", "");
  my $got = read(STDIN, my $length, 8);
  return unless $got;
  $size = unpack("Q<", $length) if $got == 8;
  die "the length of its header" if $got != 8 or $size > 1 << 20;
  read(STDIN, $header, $size) == $size or die "its header ends early";
  my $all = JSON::PP->new->max_depth(16)->decode($header);
  my $metadata = delete $all->{__metadata__} // {};
  my $total = 0;
  for (values %$all) { $total = $_->{data_offsets}[1] if $_->{data_offsets}[1] > $total }
  die "it is too large" if $total > 1 << 32;
  read(STDIN, $data, $total) == $total or die "its arrays end early" if $total;
  for my $name (keys %$all) {
    my ($x, $count) = ($all->{$name}, 1);
    for (@{$x->{shape}}) { die "a size" if $_ < 0; $count *= $_ }
    my ($start, $end) = @{$x->{data_offsets}};
    die "offsets of $name" if !$size{$x->{dtype}} or $start < 0 or $end - $start != $count * $size{$x->{dtype}};
    $x->{data} = substr($data, $start, $end - $start);
  }
  return ($metadata, $all);
}

sub respond {
  my ($metadata, $results) = @_;
  my ($header, $data) = ({__metadata__ => $metadata}, "");
  for my $name (keys %$results) {
    my $y = $results->{$name};
    my $start = length $data;
    $data .= $y->{data};
    $header->{$name} = {dtype => $y->{dtype}, shape => [map { $_ + 0 } @{$y->{shape}}], data_offsets => [$start, length $data]};
  }
  my $text = JSON::PP->new->utf8->encode($header);
  $text .= " " x (-length($text) % 8);
  print STDOUT pack("Q<", length $text), $text, $data;
}

my %functions = (
  relu => sub {
    my ($arrays) = @_;
    return [map { $_ < 0 ? 0 : $_ } unpack("f<*", $arrays->{x}{data})];
  },
  rms_norm => sub {
    my ($arrays, $keywords) = @_;
    my @x = unpack("f<*", $arrays->{x}{data});
    my @w = unpack("f<*", $arrays->{weight}{data});
    for (my $i = 0; $i < @x; $i += @w) {
      my $square = 0;
      $square += $x[$i + $_] ** 2 / @w for 0 .. $#w;
      my $root = sqrt($square + $keywords->{eps}) || "inf"; # Perl dies of a division by zero
      $x[$i + $_] = $x[$i + $_] / $root * $w[$_] for 0 .. $#w;
    }
    return \@x;
  },
);

binmode STDIN;
binmode STDOUT;
$| = 1;
while (my ($metadata, $arrays) = receive()) {
  my ($request, $operation) = ($metadata->{request} // "", $metadata->{operation} // "");
  if ($request eq "describe") { respond({describe => encode_json($description)}, {}) }
  elsif ($request eq "quit") { respond({}, {}); last }
  elsif ($request ne "call") { respond({error => "unknown request"}, {}) }
  elsif (!$functions{$operation} or grep { $_->{dtype} ne "F32" } values %$arrays) {
    respond({not_implemented => $operation}, {});
  }
  else {
    my $y = $functions{$operation}->($arrays, $metadata);
    respond({}, {result => {dtype => "F32", shape => $arrays->{x}{shape}, data => pack("f<*", @$y)}});
  }
}
